"""A child works and says what it has promised; it is killed at any moment, also while it recovers (RELIABILITY 2)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import select
import signal
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from simulator.canonical import sha256
from tests.storage import child
from tests.storage.child import OFFICE, Place, call_of, check, event_of, shown, work

SEED = int(os.environ.get("OFFICETOWN_CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
QUICK = 50
MANY = int(os.environ.get("OFFICETOWN_CRASH_KILLS", "150"))
"""More on demand: 1000 take some five minutes on a quiet machine."""


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Starts processes that have already imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([child.__name__, "pytest"])
    return context


def _one_life(processes: ForkServerContext, folder: Path, upto: int, promises: int, seconds: float) -> list[str]:
    """Let a child work, kill it `seconds` after it has made so many promises, and return all that it promised."""
    reading, writing = os.pipe()
    process = processes.Process(target=_child, args=(str(folder), _Descriptor(writing), upto))
    process.start()
    os.close(writing)
    said = b""
    until = time.monotonic() + (seconds if promises == 0 else 3600)
    while (left := until - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        if not (data := os.read(reading, 65536)):
            break
        before, said = said.count(b"\n"), said + data
        if before < promises <= said.count(b"\n"):
            until = time.monotonic() + seconds
    if process.pid is not None and process.is_alive():
        with contextlib.suppress(ProcessLookupError):  # it ended by itself between the question and the kill
            os.kill(process.pid, signal.SIGKILL)
    process.join()
    while data := os.read(reading, 65536):
        said += data
    os.close(reading)
    assert process.exitcode in (0, -signal.SIGKILL)
    # The last line may be cut off: what was not said in full was not promised.
    return said.decode().split("\n")[:-1]


class _Descriptor:
    """A file descriptor that travels to the child."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[type[_Descriptor], tuple[int]]:
        from multiprocessing.reduction import DupFd

        return _restored, (DupFd(self.descriptor),)  # type: ignore[return-value]


def _restored(duplicate: object) -> _Descriptor:
    return _Descriptor(duplicate.detach())  # type: ignore[attr-defined]


def _child(folder: str, acknowledgements: _Descriptor, upto: int) -> None:
    work(folder, acknowledgements.descriptor, upto)


def _kept(place: Place, promises: set[str]) -> None:
    """Everything promised is there: events, answers, deliveries."""
    reader = place.offices.read(OFFICE)
    head = check(place)
    sent = shown(place)
    assert len(sent) == len(set(sent)), "a message was shown twice"
    assert sent == [f"m{n}" for n in range(1, len(sent) + 1)], "messages are out of order"
    for promise in promises:
        kind, number = promise.split()
        if kind == "event":
            assert int(number) <= head, f"event {number} was promised, the log ends at {head}"
        elif kind == "call":
            request, response = call_of(int(number))
            found = reader.call(*request.call)
            assert found is not None and found.response == response, f"the answer of {number} was promised"
        else:
            assert int(number) <= len(sent), f"message {number} was promised"


def _loop(processes: ForkServerContext, folder: Path, rounds: int) -> None:
    rng = random.Random(SEED)
    place = Place(folder)
    place.make()
    promises: set[str] = set()
    upto = rounds * 8
    killed_at: list[int] = []
    for _ in range(rounds):
        # Every fifth is killed while it starts and recovers, the others at some moment of their work.
        early = rng.random() < 0.2
        life = (0, rng.uniform(0, 0.08)) if early else (rng.randrange(1, 12), rng.uniform(0, 0.004))
        promises.update(_one_life(processes, folder, upto, *life))
        _kept(place, promises)
        killed_at.append(place.offices.read(OFFICE).head)
    promises.update(_one_life(processes, folder, upto, 2**31, 0))
    _kept(place, promises)
    log = [data for _, data in place.offices.read(OFFICE).events()]
    undisturbed = [event_of(revision) for revision in range(1, upto + 1)]
    assert sha256(b"\n".join(log)) == sha256(b"\n".join(undisturbed))
    assert shown(place) == [f"m{n}" for n in range(1, upto + 1)]
    assert f"event {upto}" in promises
    assert len(set(killed_at)) > rounds // 3, "the kills hardly ever met work"
    place.database.close()


def test_killed_at_any_moment_nothing_promised_is_missing(tmp_path: Path, processes: ForkServerContext) -> None:
    print(f"crash loop: OFFICETOWN_CRASH_SEED={SEED}")
    _loop(processes, tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_more_kills(tmp_path: Path, processes: ForkServerContext) -> None:
    print(f"crash loop: OFFICETOWN_CRASH_SEED={SEED}")
    _loop(processes, tmp_path, MANY)
