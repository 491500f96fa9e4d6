"""Work rests on earlier work (issue 2): one figure of an accepted result is altered in a fork, and later figures move.

What is altered, at one moment of the second week, are the first workbooks that later ones build on: each matter's first
digest of the year (its year to date) and each client's first reconciliation (its closing balance). Then the fork lives on
as its parent did. A later result counts as dependent only if its figures moved while every paper that went into it and
was no result of work is byte for byte the same: so nothing but the earlier result can have moved it.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import msgspec
import pytest

from orchestrator.commands import fork
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from services.professions.registry import PROFESSIONS
from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.records import FileRef
from tests.acceptance import halfyear
from tests.acceptance.altering import cell_of, raised
from tests.acceptance.halfyear import Key, Lived, Made
from tests.professions.office import view_from_bytes

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1500)]
BY = 1000
DAYS = 110
"""The forks' last day: enough for what is to be shown, and shorter than the half year."""
FIRST = {"records-digest": "2026-01-05", "bank-reconciliation": "2025-12"}
FIGURE = {"records-digest": "Year to date total", "bank-reconciliation": "Closing balance"}


class Forked(msgspec.Struct, frozen=True):
    """The parent's work and the fork's, of what both have done by the fork's last day."""

    parent: Lived
    fork: Lived
    altered: dict[Key, FileRef]
    theirs: dict[Key, Made]
    ours: dict[Key, Made]

    def moved(self) -> set[Key]:
        """Later work whose figures are others, though it was made of the very same papers."""
        found = set()
        for key in self.theirs.keys() & self.ours.keys() - self.altered.keys():
            theirs, ours = self.theirs[key], self.ours[key]
            same_papers = papers(self.parent.office, theirs) == papers(self.fork.office, ours)
            if same_papers and theirs.figures != ours.figures:
                found.add(key)
        return found


def papers(office: Office, made: Made) -> set[tuple[str, str]]:
    """Return (path, hash) of what a result was made of that is itself no result of work."""
    versions = [(office.files[r.file], office.files[r.file].versions[r.version - 1]) for r in made.sources]
    return {(f"{file.space}/{file.path}", v.blob.sha256) for file, v in versions if not v.delegation}


def altered_bytes(work: str, data: bytes) -> bytes:
    """Return a workbook whose one figure is higher by `BY`; a sheet that adds up to it is raised with it."""
    figure = ("Summary", cell_of(data, "Summary", FIGURE[work]))
    if work == "records-digest":
        return raised(data, {figure: BY, ("Year to date", "B2"): BY}, {("Year to date", "D2"): BY})
    return raised(data, {figure: BY}, {})


@pytest.fixture(scope="module")
def forked(half_year: Lived, tmp_path_factory: pytest.TempPathFactory) -> Forked:
    """A fork at the end of the day on which the last of the first workbooks was accepted, with all of them altered."""
    work = half_year.accepted_work()
    altered = {key: made.main for key, made in work.items() if FIRST.get(key[0]) == key[2]}
    last = max(accepted_at(work[key]) for key in altered)
    at = calendar_for(half_year.office.calendar).day(last)
    folder = tmp_path_factory.mktemp("altered")
    house = House(read_settings({"OFFICETOWN_HOME": str(half_year.home)}))
    fork_id = half_year.id
    try:
        for number, (key, ref) in enumerate(sorted(altered.items()), 1):
            place = folder / f"{number}.xlsx"
            place.write_bytes(altered_bytes(key[0], half_year.bytes(ref)))
            change = f"{ref.file}@{ref.version}={place}"
            fork_id = fork(house, Out(quiet=True), fork_id, at, [], f"altered {number}", change)
            at = str(house.row(fork_id).head)
    finally:
        house.close()
    lived = halfyear.live(half_year.home, fork_id, DAYS, None)
    return Forked(half_year, lived, altered, work, lived.accepted_work())


def accepted_at(made: Made) -> int:
    return max(r.review.at for r in made.delegation.rounds if r.review is not None)


def test_what_is_altered_is_one_figure_that_a_reader_finds(forked: Forked) -> None:
    """The file opens, the one figure is higher by the same amount in formula and stored result, all others are as before."""
    assert len(forked.altered) == 7, "four matters' digests and three clients' reconciliations"
    for (work, matter, period), ref in forked.altered.items():
        assert forked.parent.bytes(ref) != forked.fork.bytes(ref)
        profession = PROFESSIONS[work]
        before, after = (view_from_bytes(profession, lived.bytes(ref)) for lived in (forked.parent, forked.fork))
        for label in profession.labels:
            risen = amount(after.figure(label)) - amount(before.figure(label)) if label == FIGURE[work] else 0
            assert risen == BY or (before.figure(label) == after.figure(label)), (matter, period, label)
        assert amount(after.figure(FIGURE[work])) == amount(before.figure(FIGURE[work])) + BY


def amount(text: str | None) -> Decimal:
    return Decimal((text or "0").replace(",", ""))


def test_the_fork_shares_its_parents_past(forked: Forked) -> None:
    """What was accepted before the fork is the parent's, but for the figures altered."""
    shared = {key for key, made in forked.ours.items() if forked.theirs[key].delegation == made.delegation}
    assert shared >= set(forked.altered)
    for key in shared - set(forked.altered):
        assert forked.ours[key].figures == forked.theirs[key].figures


def test_sixty_deliverables_depend_on_an_earlier_accepted_result(
    forked: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = forked.moved()
    with capsys.disabled():
        kinds = Counter(work for work, _, _ in moved)
        print(f"\n{len(moved)} later deliverables moved within {DAYS} days: {dict(kinds.most_common())}")
    assert len({forked.ours[key].delegation.id for key in moved}) >= 60
    beneath = {key: lineage(forked.fork.office, forked.ours[key]) for key in moved}
    assert all(refs & set(forked.altered.values()) for refs in beneath.values()), "by its lineage too"
    assert {"records-digest", "bank-reconciliation", "variance-analysis", "management-pack"} <= {
        key[0] for key in moved
    }


def test_they_moved_by_just_what_was_altered(forked: Forked) -> None:
    """Years to date and balances are higher by the amount, and nothing else of those workbooks is another."""
    checked = 0
    for key in forked.moved():
        if key[0] not in FIGURE:
            continue
        theirs, ours = forked.theirs[key].figures, forked.ours[key].figures
        differing = {label for label in theirs if theirs[label] != ours[label]}
        assert differing == (
            {"Year to date total"} if key[0] == "records-digest" else {"Opening balance", "Closing balance"}
        )
        assert all(amount(ours[label]) - amount(theirs[label]) == BY for label in differing), key
        checked += 1
    assert checked >= 50


def test_what_rests_on_nothing_altered_did_not_move(forked: Forked) -> None:
    """The control: with the same papers and no altered result beneath it, work has the same figures in both lives."""
    still = 0
    for key in forked.theirs.keys() & forked.ours.keys() - forked.altered.keys():
        if lineage(forked.fork.office, forked.ours[key]) & set(forked.altered.values()):
            continue
        if papers(forked.parent.office, forked.theirs[key]) == papers(forked.fork.office, forked.ours[key]):
            assert forked.theirs[key].figures == forked.ours[key].figures, key
            still += 1
    assert still >= 10


def rests_on(forked: Forked, key: Key) -> set[Key]:
    """Return the work whose accepted result a fork's deliverable was made from, by its lineage."""
    office, found = forked.fork.office, set()
    for ref in forked.ours[key].sources:
        below = office.delegations.get(office.files[ref.file].versions[ref.version - 1].delegation)
        if below is not None and below.id != forked.ours[key].delegation.id:
            found.add((below.work, below.matter, below.period))
    return found


def lineage(office: Office, made: Made) -> set[FileRef]:
    """Return every version that a result was made from, from those, and so on down."""
    found: set[FileRef] = set()
    waiting = list(made.sources)
    while waiting:
        ref = waiting.pop()
        if ref not in found:
            found.add(ref)
            waiting += office.files[ref.file].versions[ref.version - 1].sources
    return found


def test_chains_are_at_least_four_deep(forked: Forked) -> None:
    """Link by link: each deliverable of the chain moved, and was made from one below that moved too."""
    moved, depths = forked.moved(), {}

    def depth(key: Key) -> int:
        if key not in depths:
            depths[key] = 1 + max((depth(below) for below in rests_on(forked, key) & moved), default=0)
        return depths[key]

    deep = Counter(depth(key) for key in moved)
    assert max(deep) >= 4, deep
    kinds = {key[0] for key in moved if depth(key) >= 4}
    assert len(kinds) >= 2, "not of digests alone"
