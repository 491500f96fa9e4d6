"""The reviewer's eye on memos, notes and reports: figures stated and right, findings cited, nothing talked away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.professions import periods
from services.professions.amounts import grouped, number, same
from services.professions.base import Deliverable, Outcome
from services.professions.faults import Case, Fault, listed

_RESOLVED = re.compile(r"\b(resolved|cleared|settled|closed out|no longer open)\b", re.IGNORECASE)
_NOT = re.compile(
    r"\b(not|never|un|cannot be|nothing|none|no item \w+ \w+|to be|until|unless)[\s-]*(yet\s+)?(be\s+|been\s+)?"
    r"(resolved|cleared|settled|closed out)|\bunresolved|\buncleared|\bunsettled",
    re.IGNORECASE,
)
_PERIOD = re.compile(r"\b\d{4}-(?:0[1-9]|1[0-2])(?:-\d\d)?\b")
_HEADING = re.compile(r"#{1,6} ")
_STATES_ARE_OPEN = (
    "bank-reconciliation",
    "contract-review",
    "trial-monitoring",
    "inspection-control",
    "release-triage",
)


def faults(case: Case, deliverable: Deliverable, text: str) -> list[Fault]:
    """Return what is wrong with a rendered document."""
    lines = [line.strip() for line in text.splitlines()]
    found = [*_period_faults(case.period, deliverable.name, lines)]
    for label, expected in case.outcome.figures.items():
        found += _figure_faults(label, expected, case, deliverable.name, lines)
    found += _citation_faults(case.outcome, deliverable.name, text)
    if case.profession.kind in _STATES_ARE_OPEN:
        found += _talked_away(case.outcome, deliverable.name, lines)
    return found


def cites(text: str, key: str) -> bool:
    """Return whether a text names a record id as a word of its own, not as a part of a longer id."""
    return re.search(rf"(?<![\w-]){re.escape(key)}(?![\w]|-\w)", text) is not None


def _period_faults(period: str, file: str, lines: list[str]) -> Iterator[Fault]:
    written = (period, periods.words(period))
    head = next((line for line in lines if _PERIOD.search(line)), "")
    if any(words in line for line in lines for words in written):
        first = _PERIOD.findall(head)
        if head and period not in first and len(period) == len(first[0]) and lines.index(head) < 4:
            yield Fault("medium", file, _line(lines, head), f"the heading is for {first[0]}, the work is for {period}")
        return
    stated = f"it names {_PERIOD.findall(head)[0]}" if head else "it names none"
    yield Fault("medium", file, "", f"the document must say that it is for {period}; {stated}")


def _figure_faults(label: str, expected: str, case: Case, file: str, lines: list[str]) -> Iterator[Fault]:
    """Yield faults of one figure: it must stand on a line `Label: value`, and nowhere with another value."""
    start = re.compile(rf"[-*\s]*\**{re.escape(label)}\**\s*:\**\s*(.*)", re.IGNORECASE)
    stated = [(place, found[1].strip("* ")) for place, line in enumerate(lines) if (found := start.fullmatch(line))]
    right = [place for place, value in stated if same(value, expected)]
    wrong = [(place, value) for place, value in stated if not same(value, expected) and _alike(value, expected)]
    shown = grouped(expected)
    for place, value in wrong:
        yield Fault(
            "high",
            file,
            f"line {place + 1}",
            f"{label} is stated as {value}; recomputed it is {shown}{case.slip(label, value)}",
        )
    if not right and not wrong:
        yield Fault("medium", file, "", f"{label} is not stated; add the line `{label}: {shown}`", "supplement")


def _alike(value: str, expected: str) -> bool:
    """Return whether a value is of the kind expected, so that it states the figure rather than talks about it."""
    if number(expected) is not None:
        return number(value) is not None
    return bool(value) and len(value.split()) <= len(expected.split())


def _citation_faults(outcome: Outcome, file: str, text: str) -> Iterator[Fault]:
    wanted = {finding.key: finding.why for finding in outcome.findings if file in finding.must_cite_in}
    missing = [f"{key} ({why})" for key, why in wanted.items() if not cites(text, key)]
    if missing:
        count = "a record that it rests on is" if len(missing) == 1 else f"{len(missing)} records that it rests on are"
        yield Fault("high", file, "", f"{count} not cited: {listed(missing)}", "supplement")


def _talked_away(outcome: Outcome, file: str, lines: list[str]) -> Iterator[Fault]:
    """Yield open findings that the document calls resolved, in their own line or by the heading they stand under."""
    allowed = {
        row[column]
        for table in outcome.tables
        for row in table.rows
        for column in table.key
        if row.get("cleared") == "yes" or table.sheet == "Matched"
    }
    open_keys = {finding.key: finding.why for finding in outcome.findings if finding.key not in allowed}
    under = ""
    for place, line in enumerate(lines):
        if _HEADING.match(line):
            under = line if _claims(line) else ""
            continue
        if not (under or _claims(line)):
            continue
        for key, why in open_keys.items():
            if cites(line, key):
                text = f"{key} is called resolved, but no evidence supports it: {why}; list it as open"
                yield Fault("high", file, f"line {place + 1}", text)


def _claims(line: str) -> bool:
    return bool(_RESOLVED.search(line)) and not _NOT.search(line)


def _line(lines: list[str], line: str) -> str:
    return f"line {lines.index(line) + 1}"
