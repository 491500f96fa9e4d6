"""A recorded run names the versions of the prompts and the models it used."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import provenance as p
from orchestrator.provenance import note_run, provenance, until
from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.memory import MemoryJournal
from simulator.canonical import canonical, sha256
from simulator.prompts import versions

MODELS = {"principal": "large", "assistant": "small"}


def test_a_run_is_noted_with_its_prompts_models_and_engine() -> None:
    journal = MemoryJournal()
    note_run(journal, MODELS)
    (run,) = provenance(journal)
    assert run["prompts"] == versions() and run["models"] == MODELS and run["revision"] == 0 and run["engine"]


def test_runs_alike_are_noted_once_and_others_from_their_revision_on(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()
    note_run(journal, MODELS)
    journal.commit(1, [canonical({"n": 1})], {})
    note_run(journal, dict(reversed(MODELS.items())))
    assert len(provenance(journal)) == 1
    note_run(journal, {"principal": "larger"})
    monkeypatch.setattr(p, "versions", lambda: {**versions(), "wake": "0" * 12})
    journal.commit(2, [canonical({"n": 2})], {})
    note_run(journal, {"principal": "larger"})
    runs = provenance(journal)
    assert [run["revision"] for run in runs] == [0, 1, 2]
    assert [run["models"] for run in runs] == [MODELS, {"principal": "larger"}, {"principal": "larger"}]
    assert [run["prompts"]["wake"] for run in runs] == [versions()["wake"]] * 2 + ["0" * 12]  # type: ignore[index]


def test_the_status_is_canonical_and_bounded() -> None:
    journal = MemoryJournal()
    for number in range(p.KEPT + 20):
        note_run(journal, {"principal": f"m{number}"})
    runs = provenance(journal)
    assert len(runs) == p.KEPT
    names = [run["models"]["principal"] for run in runs]  # type: ignore[index]
    assert names[:2] == ["m0", "m21"] and names[-1] == f"m{p.KEPT + 19}"
    assert journal.status == canonical({"runs": runs})


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc")), max_size=6), st.integers(0, 40))
def test_a_fork_was_run_with_what_made_its_past(runs: list[tuple[int, str]], at: int) -> None:
    """Of the parent's runs, those that began before the fork's revision; one that began there made nothing of it."""
    journal = MemoryJournal()
    for revision, model in sorted(runs):
        while journal.head < revision:
            journal.commit(journal.head + 1, [canonical({"n": 1})], {})
        note_run(journal, {"principal": model})
    child = MemoryJournal()
    child.set_status(until(journal.status, at))
    assert provenance(child) == [run for run in provenance(journal) if int(str(run["revision"])) < at]
    assert until(child.status, at) == child.status


def test_an_office_that_was_never_run_has_none_and_an_unreadable_status_is_none() -> None:
    journal = MemoryJournal()
    assert provenance(journal) == []
    for status in (b"not json", b'{"runs":[{"revision":"x"}]}', b"[]"):
        journal.set_status(status)
        assert provenance(journal) == []
    note_run(journal, MODELS)
    assert len(provenance(journal)) == 1


def test_it_is_read_from_a_database_without_a_lease_and_stays_out_of_the_log(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/offices.db")
    offices = Offices(database, tmp_path / "locks")
    office = offices.create("Juniper", sha256(b"package"), 1, "1", 0)
    journal = offices.open(office)
    journal.commit(1, [canonical({"n": 1})], {})
    note_run(journal, MODELS)
    assert provenance(offices.read(office)) == provenance(journal) != []
    assert [data for _, data in journal.events()] == [canonical({"n": 1})]
    journal.close()
    database.close()
