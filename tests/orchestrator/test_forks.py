"""Forks, packs and replays: a past that is shared byte for byte, and what may differ from there on (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.compose import House
from orchestrator.moments import whole_revision
from simulator.access import publish_refusals
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.history import walk
from simulator.events import ActivationStarted, Event, OfficeForked, Switches, WorkSubmitted, decode
from simulator.office import Office
from tests.orchestrator.support import JUNIPER, Desk


def log(house: House, office: str) -> list[bytes]:
    """An office's stored events."""
    return [data for _, data in house.offices.read(office).events()]


class Never:
    """A model that must not be asked."""

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Note that it was."""
        self.asked += 1
        raise AssertionError(f"asked for {request.call}")


def test_a_forks_log_begins_with_its_parents_and_then_says_what_it_is(copied: Desk) -> None:
    parent = copied.json("offices")["offices"][0]["id"]
    forked = copied.json("fork", "Juniper", "--at", "400", "--without", "reviews", "--without", "rights", "--name", "F")
    house = copied.house()
    theirs = log(house, forked["office"])
    at = forked["revision"] - 1
    assert at >= 400
    assert theirs[:at] == log(house, parent)[:at]
    event = decode(theirs[at])
    house.close()
    assert event.payload == OfficeForked(parent, at, Switches(reviews=False, rights=False, persistence=True))


def test_a_fork_at_a_date_is_at_the_end_of_that_day(copied: Desk) -> None:
    forked = copied.json("fork", "Juniper", "--at", "2026-01-05")
    house = copied.house()
    events = [decode(data) for data in log(house, copied.json("offices")["offices"][0]["id"])]
    house.close()
    last = forked["revision"] - 1
    assert whole_revision(Listed(events), last) == last
    monday_ends = 1_767_571_200 + 24 * 3600
    assert events[last - 1].sim_time < monday_ends <= events[last].sim_time


@pytest.mark.parametrize(
    "at", ["200", "301", *(pytest.param(at, marks=pytest.mark.slow) for at in ("3", "450", "512"))]
)
def test_a_fork_that_changes_nothing_relives_its_parents_life(copied: Desk, at: str) -> None:
    """The same seed and the same answers: from the fork on the same happens, one revision later."""
    forked = copied.json("fork", "Juniper", "--at", at)["office"]
    copied.json("run", forked, "--days", "3")
    house = copied.house()
    parent, child = (
        [decode(data) for data in log(house, office)] for office in (house.row("Juniper").id, house.row(forked).id)
    )
    house.close()
    own = [event for event in child if not isinstance(event.payload, OfficeForked)]
    what = [[(e.sim_time, e.actor, e.activation, type(e.payload).__name__) for e in events] for events in (parent, own)]
    assert what[0] == what[1]


class Listed:
    """Events as a log."""

    def __init__(self, events: list[Event]) -> None:
        self.head = len(events)
        self._events = events

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield them."""
        for number, event in enumerate(self._events[after:upto], after + 1):
            yield number, event.encode()

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """There is none."""
        return None


def test_no_fork_begins_between_two_events_that_belong_together(worked: Desk) -> None:
    """A landing is whole or absent: else an activation would land its first acts twice."""
    house = worked.house()
    states = list(walk(house.offices.read(house.row("Juniper").id)))
    house.close()
    listed = Listed([event for event, _ in states])
    whole = {whole_revision(listed, revision) for revision in range(1, listed.head + 1, 3)}
    assert 50 < len(whole) < len(states) // 3
    assert min(whole) == sum(1 for event, _ in states if event.activation == "genesis")
    begun: set[str] = set()
    for event, office in states:
        if not isinstance(event.payload, ActivationStarted):
            begun.add(event.activation)
        if event.revision in whole:
            assert not begun & {running.id for running in office.running.values()}


def test_without_reviews_work_may_be_shared_that_nobody_accepted(copied: Desk) -> None:
    house = copied.house()
    submitted = next(
        e for e, _ in walk(house.offices.read(house.row("Juniper").id)) if isinstance(e.payload, WorkSubmitted)
    )
    house.close()
    assert isinstance(submitted.payload, WorkSubmitted)
    ref = submitted.payload.submission.files[0]
    refusals = []
    for ablation in ((), ("--without", "reviews")):
        office = _forked(copied, str(submitted.revision), *ablation)
        principal = office.delegations[submitted.payload.delegation].principal
        refusals.append(publish_refusals(office, principal, ref, "everyone"))
    assert "this version has not been accepted" in refusals[0]
    assert "this version has not been accepted" not in refusals[1]


def _forked(desk: Desk, at: str, *options: str) -> Office:
    forked = desk.json("fork", "Juniper", "--at", at, *options)["office"]
    house = desk.house()
    try:
        return house.office(house.row(forked))
    finally:
        house.close()


def test_without_rights_a_colleague_sees_what_was_never_shared_with_them(copied: Desk) -> None:
    forked = copied.json("fork", "Juniper", "--at", "500", "--without", "rights")["office"]
    with_rights = {f["path"] for f in copied.json("files", "Juniper", "--as", "hannah", "--on", "500")["files"]}
    without = {f["path"] for f in copied.json("files", forked, "--as", "hannah")["files"]}
    assert len(without) > len(with_rights)
    clients = [{f["sha256"] for f in copied.json("files", o, "--as", "maya")["files"]} for o in ("Juniper", forked)]
    assert clients[1] <= clients[0]


def test_without_persistence_nobody_remembers_this_mornings_conversation(copied: Desk) -> None:
    forked = copied.json("fork", "Juniper", "--at", "180", "--without", "persistence")["office"]
    copied.json("run", forked, "--days", "2")
    house = copied.house()
    lengths = []
    for office in (house.row("Juniper").id, forked):
        firsts = {
            request.call[0]: len(request.messages)
            for request, _ in house.offices.read(office).requests()
            if request.role == "principal" and request.call[1] == 1
        }
        lengths.append(max(firsts.values()))
    house.close()
    assert lengths[1] <= 2 < lengths[0]


def test_an_altered_figure_moves_the_figures_made_from_it(desk: Desk, tmp_path: Path) -> None:
    """The experiment of issue 2: alter an input in a fork, run on, and the deliverable made from it is another."""
    desk.json("run", JUNIPER, "--days", "1", "--seed", "1")
    path = "matter:riverbend-close/Inputs/2025-12/bank.csv"
    house = desk.house()
    office = house.office(house.row("Juniper"))
    file = next(f for f in office.files.values() if f"{f.space}/{f.path}" == path)
    data = house.blobs.get(file.versions[0].blob.sha256)
    house.close()
    altered = tmp_path / "altered.csv"
    altered.write_bytes(_one_amount_more(data))
    saved = next(s["revision"] for s in desk.json("why", "Juniper", path)["chain"])
    made = []
    for change in ((), ("--change", f"{path}={altered}")):
        forked = desk.json("fork", "Juniper", "--at", str(saved + 2), *change)["office"]
        desk.json("run", forked, "--days", "1")
        made.append(_deliverables(desk, forked))
    assert made[0].keys() & made[1].keys()
    assert made[0] != made[1]
    assert made[0] == _deliverables(desk, "Juniper")


def _one_amount_more(data: bytes) -> bytes:
    """Return a CSV with one more row like its last, of another reference."""
    lines = data.decode().splitlines()
    return ("\n".join([*lines, lines[-1]]) + "\n").encode()


def _deliverables(desk: Desk, office: str) -> dict[str, str]:
    house = desk.house()
    state = house.office(house.row(office))
    house.close()
    return {f"{f.space}/{f.path}": v.blob.sha256 for f in state.files.values() for v in f.versions if v.delegation}


@pytest.mark.parametrize(
    "change", ["nothing", "=x", "Handbook.md=", "Handbook.md=/nowhere/at/all", "nofile.csv=README.md"]
)
def test_a_change_that_cannot_be_made_makes_no_fork(copied: Desk, change: str) -> None:
    assert copied("fork", "Juniper", "--at", "200", "--change", change).code == 2
    assert len(copied.json("offices")["offices"]) == 1


@pytest.mark.parametrize("options", [("--without", "gravity"), ("--at", "0"), ("--at", "9999"), ("--at", "someday")])
def test_a_fork_that_makes_no_sense_is_refused(copied: Desk, options: tuple[str, ...]) -> None:
    at = () if options[0] == "--at" else ("--at", "200")
    assert copied("fork", "Juniper", *at, *options).code == 2


def test_a_pack_brings_the_whole_office_elsewhere(worked: Desk, desk: Desk, tmp_path: Path) -> None:
    packed = worked.json("pack", "Juniper", "-o", tmp_path / "juniper.pack")
    assert packed["file"] == str(tmp_path / "juniper.pack")
    here = desk.json("unpack", tmp_path / "juniper.pack")["office"]
    assert here == packed["office"]
    expected = worked.json("log", "Juniper", "--hash")["hash"]
    assert desk.json("log", here, "--hash")["hash"] == expected
    assert desk.json("replay", here)["hash"] == expected
    twin = desk.json("unpack", tmp_path / "juniper.pack", "--name", "Twin")["office"]
    assert twin != here
    for office in (here, "Twin"):
        assert desk.json("run", office, "--days", "4")["office"] in (here, twin)
    assert desk.json("log", here, "--hash")["hash"] == desk.json("log", twin, "--hash")["hash"]


def test_forked_and_unpacked_offices_say_with_which_models_they_were_run(
    copied: Desk, desk: Desk, tmp_path: Path
) -> None:
    runs = copied.json("show", "Juniper")["runs"]
    assert len(runs) == 1 and runs[0]["models"]
    forked = copied.json("fork", "Juniper", "--at", "300")["office"]
    assert copied.json("show", forked)["runs"] == runs
    copied.json("pack", forked, "-o", tmp_path / "fork.office")
    there = Desk(tmp_path / "there", desk.capture)
    unpacked = there.json("unpack", tmp_path / "fork.office", "--name", "Brought")["office"]
    assert there.json("show", unpacked)["runs"] == runs
    assert f"Run with {next(iter(runs[0]['models'].values()))}" in there("show", unpacked).out
    there.json("run", unpacked, "--days", "3")
    assert there.json("show", unpacked)["runs"] == runs, "with the same, so nothing new is noted"


def test_replay_prints_the_logs_hash_and_asks_no_model(worked: Desk) -> None:
    """RULE 2 and DESIGN 1: the record alone gives the log, byte for byte."""
    never = Never()
    replayed = worked.json("replay", "Juniper", make=lambda: worked.house(model=never))
    assert replayed == {"hash": worked.json("log", "Juniper", "--hash")["hash"]}
    assert never.asked == 0


@pytest.mark.parametrize("ablation", [pytest.param((), marks=pytest.mark.slow), ("--without", "reviews")])
def test_a_fork_is_replayed_too(copied: Desk, ablation: tuple[str, ...]) -> None:
    forked = copied.json("fork", "Juniper", "--at", "300", *ablation)["office"]
    assert copied.json("replay", forked)["hash"] == copied.json("log", forked, "--hash")["hash"]
    ended = copied.json("run", forked, "--days", "3")
    assert copied.json("replay", forked)["hash"] == ended["hash"]
    again = copied.json("fork", forked, "--at", "350")["office"]
    ended = copied.json("run", again, "--days", "3")
    assert copied.json("replay", again)["hash"] == ended["hash"]


def test_a_record_whose_answers_were_changed_is_found_out(copied: Desk) -> None:
    house = copied.house()
    with house.database.writing() as connection:
        row = connection.execute(
            text(
                "SELECT activation, ordinal FROM model_calls WHERE role = 'principal' ORDER BY activation DESC LIMIT 1"
            )
        ).one()
        other = connection.execute(text("SELECT response FROM model_calls WHERE role = 'client' LIMIT 1")).scalar_one()
        connection.execute(
            text("UPDATE model_calls SET response = :r WHERE activation = :a AND ordinal = :o"),
            {"r": other, "a": row.activation, "o": row.ordinal},
        )
    house.close()
    said = copied("replay", "Juniper")
    assert said.code == 1
    assert "another" in said.err
