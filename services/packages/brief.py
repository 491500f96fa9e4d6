"""The numbers of a brief, in digits and in words: "A nine-person clinical group serving two biotech sponsors"."""

from __future__ import annotations

import re

import msgspec

from services.packages.occupations import OccupationIndex
from simulator.errors import UsageError

BRIEF_CHARS = 10_000
PEOPLE = (3, 200)
CLIENTS = (1, 20)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_UNITS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBERS = {**{word: n for n, word in enumerate(_UNITS)}, **_TENS, "dozen": 12, "hundred": 100}
_PEOPLE = _words(
    "person persons people staff employee employees professional professionals member members strong colleague "
    "colleagues headcount heads"
)
_CLIENTS = _words("client clients customer customers sponsor sponsors account accounts patron patrons")
_GROUPS = _words(
    "team firm group staff studio office company department practice agency organization organisation boutique unit "
    "consultancy collective bureau crew"
)
_STOPS = _words("and serving for with whose that which who from to")
_AHEAD = 4
_SIZES = {"tiny": 4, "small": 6, "boutique": 6, "mid": 24, "medium": 24, "large": 40, "big": 40}
_TOKEN = re.compile(r"[a-z0-9]+(?:,\d{3})*")


class Wanted(msgspec.Struct, frozen=True):
    """How many people and clients a brief asks for; None where it does not say."""

    people: int | None = None
    clients: int | None = None


def check_brief(brief: str) -> str:
    """Return the brief without surrounding space. Raises UsageError when it is empty or too long."""
    text = brief.strip()
    if not text:
        raise UsageError(
            'The brief is empty. Say in a sentence what kind of organization you want, as in "A law firm of six".'
        )
    if len(text) > BRIEF_CHARS:
        raise UsageError(
            f"The brief has {len(text)} characters; {BRIEF_CHARS} are allowed. Put documents in --materials."
        )
    return text


def numbers(brief: str) -> Wanted:
    """Read how many people and clients a brief asks for."""
    tokens = _tokens(brief)
    people = clients = None
    for i, token in enumerate(tokens):
        if not isinstance(token, int):
            continue
        what = _counted(tokens, i)
        if what == "people" and people is None:
            people = token
        elif what == "clients" and clients is None:
            clients = token
    return Wanted(people, clients)


def decide(brief: str, people: int | None = None, clients: int | None = None) -> Wanted:
    """Return the numbers to build: those given, else the brief's, else what its words (`small`) and custom suggest.

    Raises:
        UsageError: a number is out of range.
    """
    said = numbers(brief)
    words = [token for token in _tokens(brief) if isinstance(token, str)]
    usual = next((_SIZES[word] for word in words if word in _SIZES), 12)
    # Named professionals need somebody to lead them and somebody to review their work.
    usual = max(usual, min(PEOPLE[1], sum(count for _, count in occupations(brief)) + 2))
    total = people if people is not None else said.people if said.people is not None else usual
    served = clients if clients is not None else said.clients if said.clients is not None else 2 if total < 8 else 3
    for what, count, (low, high) in (("people", total, PEOPLE), ("clients", served, CLIENTS)):
        if not low <= count <= high:
            raise UsageError(
                f"An office can have {low} to {high} {what}, not {count}. Say another number, or use --{what}."
            )
    return Wanted(total, served)


def occupations(brief: str) -> list[tuple[str, int]]:
    """Return the office occupations that a brief names, as (code, how many): 1 where it gives no number."""
    tokens = _tokens(brief)
    found: dict[str, int] = {}
    for one in OccupationIndex.load().match(" ".join(map(str, tokens))):
        if one.field:
            found[one.code] = 1
    for i, token in enumerate(tokens):
        if isinstance(token, int):
            named = _named(tokens[i + 1 : i + 4])
            if named and _counted(tokens, i) != "clients" and token <= PEOPLE[1]:
                found[named[0]] = token
    return list(found.items())


def _named(tokens: list[str | int]) -> list[str]:
    """Codes of the office occupations named by tokens up to the next number or joint; empty when there is none."""
    words = []
    for token in tokens:
        if isinstance(token, int) or token in _STOPS:
            break
        words.append(token)
    return [one.code for one in OccupationIndex.load().match(" ".join(words)) if one.field]


def _counted(tokens: list[str | int], i: int) -> str:
    """What the number at position i counts: `people`, `clients` or nothing we know."""
    for j, token in enumerate(tokens[i + 1 : i + 1 + _AHEAD]):
        if isinstance(token, int) or (token in _STOPS and j > 0):
            break
        if token in _CLIENTS:
            return "clients"
        if token in _PEOPLE or (token in _GROUPS and _named(tokens[i + 1 : i + 1 + j])):
            return "people"
    before = [str(token) for token in tokens[max(0, i - 2) : i]]
    return "people" if len(before) == 2 and before[1] == "of" and before[0] in _GROUPS else ""


def _tokens(text: str) -> list[str | int]:
    """Words in order, with every number, however written, as one int."""
    found: list[str | int] = []
    open_number = False
    for match in _TOKEN.finditer(text.lower()):
        word = match[0]
        bare = word.replace(",", "")
        value = int(bare) if bare.isdigit() and len(bare) < 10 else _NUMBERS.get(word)
        if word == "and" and open_number and isinstance(found[-1], int) and found[-1] % 100 == 0:
            continue
        if value is None:
            found.append(word)
            open_number = False
            continue
        last = found[-1] if found and open_number else None
        if isinstance(last, int) and not bare.isdigit():
            found[-1] = _combined(last, value)
        elif word in ("dozen", "hundred"):
            if found and found[-1] in ("a", "one"):
                found.pop()
            found.append(value)
        else:
            found.append(value)
        # Digits stand alone: only number words build on one another.
        open_number = not bare.isdigit()
    return found


def _combined(last: int, value: int) -> int:
    if value == 100 or value == 12:
        return last * value if value == 100 or last < 12 else last + value
    return last + value
