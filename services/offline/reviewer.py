"""A principal's eye on a submission: every opened file by its path, held against what the inputs say."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import msgspec

from services.offline.worklore import by_main, place
from services.professions.base import XLSX, Profession
from services.professions.faults import Fault
from services.professions.registry import PROFESSIONS
from services.professions.rendered import view_of
from services.professions.review import review
from services.professions.views import PriorView
from simulator.errors import UsageError


class Opened(msgspec.Struct, frozen=True):
    """A file as opened: its path with version and its text (rendered)."""

    path: str
    text: str

    @property
    def name(self) -> str:
        """The file's name, without folder and version."""
        return self.path.rpartition("/")[2].rpartition("@")[0] or self.path.rpartition("/")[2]


def judge(
    profession: Profession, period: str, sources: tuple[Opened, ...], submitted: tuple[Opened, ...]
) -> tuple[Fault, ...]:
    """Return the faults of a submission, worst first.

    `sources` are what the work was given: inputs, the prior result, results of other kinds. Which is which is told by
    name and period. Further files that were submitted must not be altered copies of the sources.
    """
    return _judge(profession.kind, period, sources, submitted)


@lru_cache(maxsize=512)
def _judge(kind: str, period: str, sources: tuple[Opened, ...], submitted: tuple[Opened, ...]) -> tuple[Fault, ...]:
    profession = PROFESSIONS[kind]
    inputs = inputs_of(profession, sources)
    prior, others = results_of(profession, period, sources)
    names = {deliverable.name for deliverable in profession.deliverables}
    texts = {each.name: each.text for each in submitted if each.name in names}
    try:
        found = review(profession, period, inputs, prior, others, texts)
    except UsageError as fault:
        found = [Fault("high", profession.main.name, "", f"the inputs do not hold together: {fault}")]
    originals = tuple(each for each in sources if each.name in {spec.file for spec in profession.inputs})
    return (*found, *_altered(originals, submitted))


def inputs_of(profession: Profession, sources: tuple[Opened, ...]) -> dict[str, str]:
    """Return {input name: CSV text} among the sources."""
    texts = {each.name: each.text for each in sources}
    return {spec.name: texts[spec.file] for spec in profession.inputs if spec.file in texts}


def results_of(
    profession: Profession, period: str, sources: tuple[Opened, ...]
) -> tuple[PriorView | None, dict[str, PriorView]]:
    """Return the views of the prior result and of other kinds' results among the sources."""
    prior: PriorView | None = None
    others: dict[str, PriorView] = {}
    for each in sources:
        made = by_main(each.name)
        where = place(each.path)
        if made is None or (where is not None and where.area == "Inputs"):
            continue
        if made.kind == profession.kind:
            prior = _view(made.kind, each.text)
        for other in profession.others:
            if other.kind == made.kind:
                others[other.name] = _view(made.kind, each.text)
    return prior, others


@lru_cache(maxsize=512)
def _view(kind: str, text: str) -> PriorView:
    return view_of(PROFESSIONS[kind].main, text)


def _altered(sources: tuple[Opened, ...], submitted: tuple[Opened, ...]) -> list[Fault]:
    """Return a fault for each submitted copy of a source that is no longer what it was."""
    given = {each.name: each.text for each in sources}
    return [
        Fault("high", each.name, "", "this copy of an input is not what the client sent: work from the original, "
              "and hand in no copies")
        for each in submitted
        if each.name in given and each.text != given[each.name]
    ]  # fmt: skip


def figure_file(profession: Profession) -> str:
    """Return the name of the deliverable that states the figures: the main one, or the report beside a bare log."""
    prose = [each.name for each in profession.deliverables if each.prose]
    bare = profession.main.media_type != XLSX and "figures" not in profession.main.name
    return prose[0] if prose and bare else profession.main.name


def figures_of(profession: Profession, opened: Opened | None) -> dict[str, str]:
    """Return the figures that a deliverable states, money with two places; empty where there is none to read."""
    if opened is None:
        return {}
    if any(each.name == opened.name and each.prose for each in profession.deliverables):
        found = {label: _stated(label, opened.text) for label in profession.labels}
    else:
        view = _view(profession.kind, opened.text)
        found = {label: view.figure(label) for label in profession.labels}
    money = _money_labels(profession.kind)
    return {
        label: _two_places(value) if label in money else value for label, value in found.items() if value is not None
    }


def _stated(label: str, text: str) -> str | None:
    found = re.search(rf"^[-*\s]*{re.escape(label)}: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else None


@lru_cache(maxsize=32)
def _money_labels(kind: str) -> frozenset[str]:
    """Return the labels whose figures are money, learned from a sample of the work."""
    profession = PROFESSIONS[kind]
    sample = profession.by_name(profession.materials("Sample", "2026-01", 1))
    figures = profession.figures("2026-01", sample)
    return frozenset(
        label for label, value in figures.items() if value.rpartition(".")[2].isdigit() and value[-3:-2] == "."
    )


def _two_places(value: str) -> str:
    try:
        return f"{Decimal(value.replace(',', '')):.2f}"
    except InvalidOperation:
        return value


def notes(faults: tuple[Fault, ...], most: int = 9) -> str:
    """Return faults as numbered notes: file, place, what was found, what is expected."""
    lines = [f"{number}. {fault}" for number, fault in enumerate(faults[:most], 1)]
    more = len(faults) - most
    if more > 0:
        lines.append(f"... and {more} more of the same kind; the list is by weight.")
    return "\n".join(lines)


def decision(faults: tuple[Fault, ...]) -> str:
    """Return what faults call for: `revise` where anything is wrong, `supplement` where something is missing, else `accept`."""
    if not faults:
        return "accept"
    return "revise" if any(fault.fix == "revise" for fault in faults) else "supplement"
