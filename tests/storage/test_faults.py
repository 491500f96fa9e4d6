"""Every named fault point, in every way it can fail: nothing lost, nothing doubled, nothing half (RELIABILITY 1)."""

from __future__ import annotations

import ast
import multiprocessing
import sqlite3
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from services.storage import faults
from services.storage.faults import (
    HARD_EXIT_CODE,
    Fault,
    InjectedFault,
    LostAnswer,
    armed,
    committed,
    counting,
    fault_point,
)
from simulator.errors import StorageError
from tests.storage import child
from tests.storage.child import Place, check, die_at, life, shown

SOURCE = Path(faults.__file__).parent
LENGTH = 6


def _points() -> list[str]:
    """The names of all fault points in the source of the storage."""
    found = []
    for path in sorted(SOURCE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fault_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), f"{path}: a fault point's name is written out"
                found.append(str(name.value))
    return found


POINTS = _points()


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Starts processes that have already imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([child.__name__, "pytest"])
    return context


def _recovered(folder: Path) -> None:
    """Run on after the fault, twice: the second time must change nothing."""
    for _ in range(2):
        place = Place(folder)
        assert check(place) <= LENGTH
        life(place)
        assert check(place) == LENGTH
        assert shown(place) == [f"m{revision}" for revision in range(1, LENGTH + 1)]
        assert list((folder / "blobs" / "tmp").iterdir()) == []
        place.database.close()


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.HARD_EXIT])
@pytest.mark.parametrize("point", POINTS)
def test_a_fault_anywhere_is_recovered_from(tmp_path: Path, point: str, fault: Fault) -> None:
    place = Place(tmp_path)
    raised: BaseException | None = None
    with armed(point, fault):
        try:
            life(place)
        except (InjectedFault, StorageError) as error:
            raised = error
        except OSError as error:
            # These two lie outside the storage's own file and database calls, where nothing real raises OSError.
            assert point in ("outbox.deliver", "outbox.delivered")
            raised = StorageError(str(error))
        assert not faults._STATE.faults, f"{point} was not passed"
    if fault is Fault.RAISE:
        assert isinstance(raised, InjectedFault)
    elif fault is not Fault.AFTER_COMMIT:
        assert isinstance(raised, StorageError)
    place.database.close()
    _recovered(tmp_path)


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_dies_anywhere_is_recovered_from(
    tmp_path: Path, point: str, processes: ForkServerContext
) -> None:
    process = processes.Process(target=die_at, args=(str(tmp_path), point))
    process.start()
    process.join(60)
    assert process.exitcode == HARD_EXIT_CODE
    check(Place(tmp_path))
    for abandoned in (tmp_path / "blobs" / "tmp").glob("*"):
        # Left by a process that died; a collection takes it after a day.
        abandoned.unlink()
    _recovered(tmp_path)


def test_every_point_is_passed_and_named_once(tmp_path: Path) -> None:
    with counting() as hits:
        life(Place(tmp_path))
    assert set(hits) == set(POINTS)
    assert len(set(POINTS)) == len(POINTS) >= 20


def test_an_unarmed_point_does_nothing() -> None:
    fault_point("no such point")
    committed()


def test_a_point_fails_once_after_being_skipped() -> None:
    with armed("x", Fault.RAISE, skip=2):
        fault_point("x")
        fault_point("y")
        fault_point("x")
        with pytest.raises(InjectedFault, match="x"):
            fault_point("x")
        fault_point("x")
    fault_point("x")


def test_a_lost_answer_comes_out_at_the_next_commit_alone() -> None:
    with armed("x", Fault.AFTER_COMMIT):
        committed()
        fault_point("x")
        with pytest.raises(LostAnswer):
            committed()
        committed()
    with armed("x", Fault.AFTER_COMMIT):
        fault_point("x")
    committed()


def test_the_disk_of_the_tests_keeps_the_promise_of_sqlite() -> None:
    """RULE 24 needs RETURNING."""
    assert sqlite3.sqlite_version_info >= (3, 35)
