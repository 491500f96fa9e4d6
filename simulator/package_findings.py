"""Findings about a package before their lines are known, and the rules for ids and paths that all checks share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from simulator.package import Fault, Package
from simulator.package_text import Place, is_card

FILE_BYTES = 20_000_000
PACKAGE_BYTES = 500_000_000
PACKAGE_FILES = 20_000
PATH_CHARS = 240
YEARS = (1990, 2100)
RESERVED = frozenset({"engine", "assistant", "genesis", "everyone", "company"})
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Finding(msgspec.Struct, frozen=True):
    """A fault before its line is known: `place` is where it stands in the YAML file."""

    file: str
    place: Place
    text: str


Rule = Callable[[Package], Iterator[Finding]]


def card_file(person: str) -> str:
    """The package path of a person's role card."""
    return f"people/{person}.yaml"


def slug(file: str, place: Place, value: str) -> Iterator[Finding]:
    if not _SLUG.fullmatch(value) or len(value) > 40:
        yield Finding(
            file, place, f"The id `{value}` is not lower-case letters, digits and single hyphens (40 at most)."
        )
    elif value in RESERVED:
        yield Finding(file, place, f"The id `{value}` is reserved.")


def repeated(file: str, places: Iterable[tuple[Place, str]], what: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for place, value in places:
        if value in seen:
            yield Finding(file, place, f"The {what} `{value}` is used twice.")
        seen.add(value)


# -- paths and bytes --------------------------------------------------------------------------------------------------


def bad_path(path: str) -> str:
    """Return what is wrong with a relative path, as the end of a sentence; empty when nothing is."""
    if not path:
        return "is empty"
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", path):
        return "is absolute or uses `\\`; paths are relative, with `/`"
    parts = path.split("/")
    if ".." in parts:
        return "leaves its folder with `..`"
    if "" in parts or "." in parts:
        return "has an empty part or a `.`"
    if any(ord(ch) < 32 or ch == "\x7f" or "\ud800" <= ch <= "\udfff" for ch in path):
        return "holds a control character or a byte that is no text"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return "has a part that begins or ends with a space, or ends with a dot"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode form NFC, so two systems would write it differently"
    return f"is longer than {PATH_CHARS} characters" if len(path) > PATH_CHARS else ""


def folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def check_paths(files: Mapping[str, bytes]) -> Iterator[Fault]:
    """Yield the faults of names and sizes."""
    seen: dict[str, str] = {}
    for path in sorted(files):
        if problem := bad_path(path):
            yield Fault(path.encode("utf-8", "replace").decode(), 0, f"The path {problem}.")
        other = seen.setdefault(folded(path), path)
        if other != path:
            yield Fault(path, 0, f"The path differs from `{other}` only in case or Unicode form.")
        if len(files[path]) > FILE_BYTES:
            yield Fault(path, 0, f"The file has {len(files[path])} bytes; {FILE_BYTES} are allowed.")
        top = path.split("/", 1)[0]
        if "/" in path and top not in ("people", "skills", "materials", "systems"):
            yield Fault(path, 0, f"A package has no folder `{top}`. Move the file to materials or remove it.")
        elif top == "people" and not is_card(path):
            yield Fault(path, 0, "The folder `people` holds role cards alone, one `<id>.yaml` each.")
