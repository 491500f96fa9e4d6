"""Invented names and manners, drawn without repetition."""

from __future__ import annotations

import re
import unicodedata

from simulator.randomness import Stream


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST = _words(
    "Abena Adaeze Akira Alba Alma Amir Anders Anika Anouk Arjun Astrid Ayla Bashir Beatriz Bela Bram Callum "
    "Camille Carys Chidi Clara Dalia Dario Defne Desmond Dilan Edda Efe Eilidh Elif Emeka Enzo Esme Farah Felix "
    "Fiona Gemma Giulia Hana Harriet Hassan Helena Idris Ilse Imani Ingrid Isaac Ivo Jalen Jana Jasper Joana Jun "
    "Kaia Kamal Katya Kenji Lars Layla Leonie Linus Lucia Maeve Malik Mara Mateo Mei Milan Mina Nadia Naveen Nell "
    "Nils Noor Olga Omar Orla Oscar Paloma Pavel Petra Pia Rafael Rania Ravi Rhys Rosa Ruben Saba Samir Selma "
    "Signe Soren Stella Suki Tamsin Tariq Tessa Theo Uma Vera Viktor Wanda Wren Xenia Yara Yusuf Zahra Zora"
)
LAST = _words(
    "Abbott Achebe Adler Alvarez Amsel Ashworth Bakker Banerjee Barlow Bashara Becker Bellamy Bianchi Birch "
    "Bondarenko Castell Chaudhry Chen Conti Cross Dahl Darwish Delgado Demir Dietrich Drummond Dubois Eklund "
    "Ellery Falk Farouk Ferrer Fleming Fontaine Forsyth Frost Galanis Garrick Gray Gupta Haas Halvorsen Hartley "
    "Hassan Hayashi Holm Horvat Ibarra Ivers Jansen Jovanovic Kaplan Kaur Keller Khan Kimura Kovacs Laine Lang "
    "Larsen Lindgren Lombardi Mahler Marchetti Mbeki Mercer Morel Nakamura Ndiaye Nolan Novak Obi Okoro Olsen "
    "Ortega Osman Paget Palmer Papadaki Parry Petrov Quist Rahman Reid Rossi Rowe Sandoval Santos Sato Schuster "
    "Sharma Silva Sorensen Stone Strand Tan Thorne Tremblay Ueda Vance Vargas Vogel Wallace Weiss Whitaker Winter "
    "Yamada Yilmaz Zeller Zhou"
)
PLACES = _words(
    "Alder Amber Anchor Ashford Aspen Beacon Bluff Bramble Bridge Brook Cairn Canal Cedar Chalk Cliff Clover "
    "Cobalt Copper Crane Crescent Dale Delta Dover Elm Ember Falcon Fern Field Flint Garnet Glen Granite Grove "
    "Harbour Hazel Heron Hollow Iris Kestrel Lake Lantern Larch Linden Lock Maple Marsh Meadow Mill Moor North "
    "Oak Orchard Osprey Otter Pine Poplar Quarry Quill Reed Ridge River Robin Rowan Saffron Sage Salt Shore "
    "Silver Slate Spring Sterling Stone Summit Swift Teal Thistle Thorn Tidal Timber Vale Vantage Walnut Water "
    "Wharf Willow Wren Yarrow"
)

_OPENERS = (
    "Reads the inputs before the summary.",
    "Answers within the hour, even if only with a date.",
    "Writes little and means all of it.",
    "Asks one question too many, on purpose.",
    "Starts from last month's result.",
    "Prefers a table to a paragraph.",
    "Likes to hear bad news early.",
    "Works in the order in which things are due.",
    "Draws the plan before starting.",
    "Takes notes in every meeting and sends them round.",
    "Gives people room and then checks.",
    "Explains the why before the what.",
)
_HABITS = (
    "Names the record behind each statement.",
    "Adds up one column by hand.",
    "Does not round before the last line.",
    "Leaves open what has no evidence.",
    "Marks the exact cell when something is off.",
    "Keeps a list of promises and their days.",
    "Says who decided, and when.",
    "Sends work back once, completely, rather than three times.",
    "Tries the simple method first.",
    "Never sends a draft outside the team.",
    "Compares row counts before and after.",
    "Thanks people by name.",
)


def style(draw: Stream) -> str:
    """Return a manner of working."""
    return f"{draw.choice(_OPENERS)} {draw.choice(_HABITS)}"


def names(draw: Stream, count: int) -> list[tuple[str, str]]:
    """Return `count` different names as (first, last); first names repeat only when there are more people than
    names."""
    firsts: list[str] = []
    while len(firsts) < count:
        firsts.extend(draw.shuffled(FIRST))
    lasts = draw.shuffled(LAST)
    taken: set[tuple[str, str]] = set()
    for i, first in enumerate(firsts[:count]):
        k = i
        while (first, lasts[k % len(lasts)]) in taken:
            k += 1
        taken.add((first, lasts[k % len(lasts)]))
        firsts[i] = f"{first} {lasts[k % len(lasts)]}"
    return [(name.partition(" ")[0], name.partition(" ")[2]) for name in firsts[:count]]


def slug(text: str) -> str:
    """Return text as an id: lower-case ASCII letters and digits with single hyphens; `x` before a digit."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:34].strip("-") or "x"
    return found if found[0].isalpha() else f"x{found}"


def unique(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, or it with a number, so that it is not in `taken`; and take it."""
    found, n = wanted, 1
    while found in taken:
        n += 1
        found = f"{wanted}-{n}"
    taken.add(found)
    return found
