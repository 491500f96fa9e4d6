"""What a profession is: the materials of a client, the figures recomputed, and the records a reader must be pointed to.

The contract is `docs/decisions/0002-work-kinds.md`. Nothing here shares code with the scripts of the skill packs.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from services.professions import periods
from services.professions.amounts import cents, nearest, number
from services.professions.views import PriorView
from simulator.errors import UsageError

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF = "application/pdf"
CSV = "text/csv"
MARKDOWN = "text/markdown"


class InputSpec(msgspec.Struct, frozen=True):
    """An input: its `name` in `--input NAME=PATH`, its usual file name, its columns, and what it holds in words."""

    name: str
    file: str
    columns: tuple[str, ...]
    about: str
    optional: bool = False


class Deliverable(msgspec.Struct, frozen=True):
    """A file that the work produces. `prose` ones state every figure on a line `Label: value`."""

    name: str
    media_type: str

    @property
    def prose(self) -> bool:
        """Return whether this is a memo, note or report rather than a table."""
        return self.media_type in (DOCX, PDF, MARKDOWN)


class Other(msgspec.Struct, frozen=True):
    """A result of another kind that this work builds on: its name in `--from NAME=PATH` and the kind it comes from."""

    name: str
    kind: str


class Finding(msgspec.Struct, frozen=True):
    """A record that a reader must be pointed to: `key` is its id, `must_cite_in` the deliverables that cite it."""

    key: str
    why: str
    must_cite_in: tuple[str, ...]


class Table(msgspec.Struct, frozen=True):
    """The rows that a sheet (or a CSV, `sheet` empty) must hold, in any order.

    `key` names the columns that identify a row; every column of `rows` must agree, those in `money` to the cent. Rows
    may occur twice; then they must occur twice. A column that a row lacks is not checked in that row. `totals` maps a
    money column to the figure that is its sum; the columns in `live` are formulas in a workbook.
    """

    file: str
    sheet: str
    key: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]
    money: tuple[str, ...] = ()
    totals: Mapping[str, str] = {}
    live: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the checked columns."""
        return tuple(dict.fromkeys((*self.key, *(column for row in self.rows for column in row))))

    def keys(self) -> list[tuple[str, ...]]:
        """Return the key of every row, in row order."""
        return [tuple(row[column] for column in self.key) for row in self.rows]


class Outcome(msgspec.Struct, frozen=True):
    """All that follows from the inputs: figures by label, the records to cite, the rows of each table."""

    figures: Mapping[str, str]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]


Inputs = Mapping[str, str]
Others = Mapping[str, PriorView]


class Profession(ABC):
    """One kind of recurring professional work.

    `inputs` of the methods map an input's name to its CSV text. `prior` is the previous period's main deliverable, or
    None; `others` maps a name of `others` to that result. Malformed inputs raise `UsageError` with file, line, column.
    """

    kind: str
    domain: str
    title: str
    inputs: tuple[InputSpec, ...]
    deliverables: tuple[Deliverable, ...]
    labels: tuple[str, ...]
    live: tuple[str, ...] = ()  # figures that are sums or differences, live formulas on `Summary`
    uses_prior: bool = True
    others: tuple[Other, ...] = ()

    @property
    def main(self) -> Deliverable:
        """Return the deliverable that the next period and other kinds build on."""
        return self.deliverables[0]

    @abstractmethod
    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return what the client sends for the period: {file name: CSV text}, a function of the arguments.

        `days`, 7 or 14, is the length of a period that is named by a Monday. Consecutive periods continue each other.
        Optional inputs are left out in some periods.
        """

    @abstractmethod
    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return figures, findings and tables, recomputed from the texts alone."""

    @abstractmethod
    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together in a client's materials, in complete sentences; empty when sound."""

    def figures(
        self, period: str, inputs: Inputs, prior: PriorView | None = None, others: Others | None = None
    ) -> dict[str, str]:
        """Return {label: canonical text}: money `1234.56`, counts `7`, percents `12.5`, words."""
        return dict(self.compute(period, inputs, prior, others or {}).figures)

    def findings(
        self, period: str, inputs: Inputs, prior: PriorView | None = None, others: Others | None = None
    ) -> list[Finding]:
        """Return the records that must be cited, and where."""
        return list(self.compute(period, inputs, prior, others or {}).findings)

    def tables(
        self, period: str, inputs: Inputs, prior: PriorView | None = None, others: Others | None = None
    ) -> list[Table]:
        """Return the rows that each sheet and CSV must hold."""
        return list(self.compute(period, inputs, prior, others or {}).tables)

    def by_name(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return materials {file name: text} as inputs {input name: text}."""
        return {spec.name: files[spec.file] for spec in self.inputs if spec.file in files}

    def rows(self, inputs: Inputs, name: str) -> list[dict[str, str]]:
        """Return the records of an input; an absent optional input has none."""
        spec = next(spec for spec in self.inputs if spec.name == name)
        if name not in inputs:
            if spec.optional:
                return []
            raise UsageError(f"{self.kind}: the input {name!r} ({spec.file}) is missing: give its CSV text")
        return read_csv(inputs[name], spec.columns, spec.file)


def read_csv(text: str, columns: Sequence[str], file: str) -> list[dict[str, str]]:
    """Return the records of a CSV text. Raises `UsageError` for a missing column or a ragged line."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        header = next(reader, [])
        lines = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as problem:
        raise UsageError(f"{file} line {reader.line_num}: no CSV reader takes this line") from problem
    missing = [column for column in columns if column not in header]
    if missing:
        raise UsageError(f"{file} line 1: the column {missing[0]!r} is missing; the header must be {','.join(columns)}")
    records = []
    for line, cells in lines:
        if len(cells) != len(header):
            raise UsageError(f"{file} line {line}: {len(cells)} cells where the header has {len(header)}")
        records.append({key: cell.strip() for key, cell in zip(header, cells, strict=True)})
    return records


def write_csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return CSV text: header line, `,`, line ends `\\n`, quotes only where needed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def amount_in(row: Mapping[str, str], column: str, file: str) -> int:
    """Return an amount of a record in cents. Raises `UsageError` naming file and column."""
    try:
        return cents(row[column])
    except ValueError as problem:
        raise UsageError(
            f"{file}: column {column!r} of the record {next(iter(row.values()))!r}: {problem}"
        ) from problem


def carried_amount(view: PriorView | None, label: str) -> int:
    """Return a money figure of an earlier result in cents, 0 where it is absent or not stated."""
    return carried_cents(view.figure(label) or "") if view is not None else 0


def carried_cents(text: str) -> int:
    """Return an amount that an earlier result states in cents; what is no amount counts as nothing.

    An earlier result was accepted as it is: a slip in it must not keep this period's work from being done.
    """
    value = number(text)
    return nearest(value * 100) if value is not None else 0


def outside(period: str, rows: Iterable[Mapping[str, str]], column: str, key: str) -> list[str]:
    """Return a sentence for each record whose date is not in the period (a Monday period has up to 14 days)."""
    first, last = periods.bounds(period)
    return [
        f"{row[key]}: {column} {row[column]} is not in {period}" for row in rows if not first <= row[column] <= last
    ]


def period_of(prior: PriorView, period: str) -> str:
    """Return the prior's period as it states it; one that does not is taken for the month or week before `period`."""
    return prior.figure("Period") or periods.span(period).back(1).name


def same_year(prior: PriorView | None, period: str) -> PriorView | None:
    """Return the prior if its `Period` lies in the year of `period`: only then does a year to date go on."""
    stated = prior.figure("Period") if prior is not None else None
    return prior if not stated or stated[:4] == period[:4] else None


def repeated(rows: Iterable[Mapping[str, str]], key: str) -> list[str]:
    """Return a sentence for each key that occurs more than once."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row[key]] = seen.get(row[key], 0) + 1
    return [f"{key} {value} occurs {count} times" for value, count in seen.items() if count > 1]
