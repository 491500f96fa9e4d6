"""The occupation index: which O*NET-SOC codes exist, their official titles, and which suit an office (DESIGN 11).

The shipped index is `fixtures/occupations` (attributed there). Importers take the full O*NET database, in its Excel
or its tab-separated edition, and the ESCO occupations file. Columns are found by their header's name, never by
position.
"""

from __future__ import annotations

import csv
import importlib.resources
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from simulator.errors import UsageError

_CODE = re.compile(r"\d\d-\d{4}\.\d\d")
_WORD = re.compile(r"[a-z0-9]+")
_NULLS = frozenset({"", "n/a"})
_WEAK = frozenset({"all", "and", "except", "for", "in", "of", "other", "the", "to", "at"})


class Occupation(msgspec.Struct, frozen=True, order=True):
    """One occupation. `domain`, `field`, `kinds` and `also` are ours and empty where it is not an office role.

    `job_zone` is 1 to 5, 0 where none is given.
    """

    code: str
    title: str
    domain: str = ""
    job_zone: int = 0
    field: str = ""
    kinds: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


class OccupationIndex(msgspec.Struct, frozen=True, dict=True):
    """Occupations by code."""

    by_code: Mapping[str, Occupation]

    @staticmethod
    @lru_cache(maxsize=1)
    def load() -> OccupationIndex:
        """Return the shipped index."""
        folder = importlib.resources.files("fixtures").joinpath("occupations")
        roles = {row["code"]: row for row in _table(folder.joinpath("roles.csv").read_text("utf-8"), ",")}
        found = {}
        for row in _table(folder.joinpath("occupations.csv").read_text("utf-8"), ","):
            role = roles.get(row["code"], {})
            found[row["code"]] = Occupation(
                row["code"],
                row["title"],
                row["domain"],
                int(row["job_zone"] or 0),
                role.get("field", ""),
                tuple(role.get("kinds", "").split()),
                tuple(filter(None, role.get("also", "").split("|"))),
            )
        return OccupationIndex(found)

    @cached_property
    def codes(self) -> frozenset[str]:
        """All codes."""
        return frozenset(self.by_code)

    @cached_property
    def office(self) -> tuple[Occupation, ...]:
        """The occupations that suit a professional office, in order of code."""
        return tuple(one for _, one in sorted(self.by_code.items()) if one.field)

    def match(self, text: str) -> list[Occupation]:
        """Return the occupations that `text` names, by official or other title, in singular or plural.

        Longer names win over those they contain, so `data scientist` does not also name what `scientist` would. They
        come in the order in which the text names them.
        """
        words = tuple(_singular(word) for word in _WORD.findall(text.lower()))
        taken = [False] * len(words)
        hits: dict[str, int] = {}
        for name, code in self._names:
            size = len(name)
            for start in range(len(words) - size + 1):
                if words[start : start + size] == name and not any(taken[start : start + size]):
                    taken[start : start + size] = [True] * size
                    hits.setdefault(code, start)
        return [self.by_code[code] for code in sorted(hits, key=lambda code: (hits[code], code))]

    @cached_property
    def _names(self) -> list[tuple[tuple[str, ...], str]]:
        """Word sequences that name an occupation, the longest first."""
        names: dict[tuple[str, ...], str] = {}
        # Office roles come first: where two occupations bear a name, the one that suits an office is meant.
        for one in sorted(self.by_code.values(), key=lambda one: (not one.field, one.code)):
            for title in (one.title, *_halves(one.title), *one.also):
                words = tuple(_singular(word) for word in _WORD.findall(title.lower()))
                if words and not set(words) <= _WEAK:
                    names.setdefault(words, one.code)
        return sorted(names.items(), key=lambda item: (-len(item[0]), item[0]))


def _halves(title: str) -> Iterator[str]:
    """Titles such as `Accountants and Auditors` or `Appraisers, Except ...` name an occupation by each half."""
    head = title.split(", Except")[0].split(", All Other")[0]
    yield head
    parts = re.split(r",? and |, ", head)
    if all(len(part.split()) == 1 for part in parts):
        yield from parts


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


# -- importing the published databases --------------------------------------------------------------------------------


def import_onet(folder: Path) -> OccupationIndex:
    """Read the O*NET database from a folder, `Occupation Data.xlsx` or `.txt` and, where present, its sister tables.

    `Job Zones`, `Alternate Titles` (as `also`) and `Task Statements` (as `tasks`) are optional; some occupations have
    none.

    Raises:
        UsageError: a table is missing, cannot be read, or lacks a column.
    """
    base = list(_onet_table(folder, "Occupation Data", ("O*NET-SOC Code", "Title"), required=True))
    zones = dict(_onet_table(folder, "Job Zones", ("O*NET-SOC Code", "Job Zone")))
    titles = _grouped(_onet_table(folder, "Alternate Titles", ("O*NET-SOC Code", "Alternate Title")))
    tasks = _grouped(_onet_table(folder, "Task Statements", ("O*NET-SOC Code", "Task")))
    shipped = OccupationIndex.load().by_code
    found: dict[str, Occupation] = {}
    for code, title in base:
        if not _CODE.fullmatch(code):
            raise UsageError(f"Occupation Data in {folder}: `{code}` is no O*NET-SOC code such as 13-2011.00.")
        ours = shipped.get(code, Occupation(code, title))
        also = tuple(dict.fromkeys((*ours.also, *titles.get(code, ()))))
        zone = zones.get(code, "")
        found[code] = msgspec.structs.replace(
            ours, title=title, job_zone=int(zone) if zone.isdigit() else 0, also=also, tasks=tuple(tasks.get(code, ()))
        )
    return OccupationIndex(found)


def import_esco(file: Path) -> OccupationIndex:
    """Read ESCO's occupations file (CSV). Codes are the last part of each concept's URI; ISCO groups become `field`.

    Raises:
        UsageError: the file is missing, cannot be read, or lacks a column.
    """
    found = {}
    for row in _table(_read_text(file), ",", ("conceptUri", "preferredLabel"), str(file)):
        code = row["conceptUri"].rstrip("/").rsplit("/", 1)[-1]
        labels = row.get("altLabels", "").splitlines()
        found[code] = Occupation(
            code,
            row["preferredLabel"],
            field=row.get("iscoGroup", ""),
            also=tuple(dict.fromkeys(label.strip() for label in labels if label.strip())),
        )
    return OccupationIndex(found)


def _grouped(pairs: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for code, text in pairs:
        found.setdefault(code, []).append(text)
    return found


def _onet_table(folder: Path, name: str, columns: tuple[str, str], required: bool = False) -> Iterator[tuple[str, str]]:
    """Yield two named columns of a table, leaving out rows in which either is null."""
    text, book = folder / f"{name}.txt", folder / f"{name}.xlsx"
    if book.is_file():
        rows = _sheet(book, columns)
    elif text.is_file():
        rows = _table(_read_text(text), "\t", columns, str(text))
    elif required:
        raise UsageError(
            f"{folder} holds neither `{name}.xlsx` nor `{name}.txt`. Unpack the O*NET database there, in its Excel "
            "or its text edition."
        )
    else:
        return
    for row in rows:
        pair = row[columns[0]].strip(), row[columns[1]].strip()
        if not _NULLS & set(pair):
            yield pair


def _sheet(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, OSError, ValueError) as fault:
        raise UsageError(f"{file} is no Excel workbook that can be read. Download it again.") from fault
    try:
        sheet = book.worksheets[0]
        rows = sheet.iter_rows(values_only=True)
        header = [str(cell or "") for cell in next(rows, ())]
        _has(header, columns, str(file))
        for cells in rows:
            yield {key: "" if cell is None else str(cell) for key, cell in zip(header, cells, strict=False)}
    finally:
        book.close()


def _read_text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{file} cannot be read as UTF-8 text. Name the file as it was downloaded.") from fault


def _table(text: str, delimiter: str, columns: tuple[str, ...] = (), file: str = "") -> Iterator[dict[str, str]]:
    # O*NET's text edition quotes nothing: a `"` in a task is a `"`.
    stream = io.StringIO(text, newline="")
    rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if delimiter == "\t" else csv.reader(stream)
    header = next(rows, [])
    _has(header, columns, file)
    for cells in rows:
        if cells:
            yield dict(zip(header, cells, strict=False))


def _has(header: list[str], columns: tuple[str, ...], file: str) -> None:
    for column in columns:
        if column not in header:
            raise UsageError(f"{file} has no column `{column}`; its columns are {', '.join(header)}.")
