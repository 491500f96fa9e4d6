"""A large office over a long time: `python -m bench.large [PEOPLE] [DAYS]` (1,000 people over 181 days without arguments).

Minutes of work, so it is a command of its own and not part of `make bench`. The log is on SQLite, as in a run; what is measured
is the engine's CPU a step beyond the model, and the process' peak memory.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from bench.crowd import Busy, crowd
from bench.measure import DAY, Timed, say
from services.documents.renderer import DocumentRenderer
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.journal import Offices
from simulator.engine.environment import Environment, Settings
from simulator.engine.history import as_of
from simulator.engine.loop import Engine


def main(people: int = 1_000, days: int = 181) -> int:
    """Run a crowd on SQLite, in ten parts, printing each."""
    with tempfile.TemporaryDirectory(prefix="officetown-large-") as name:
        folder = Path(name)
        offices = Offices(Database(f"sqlite:///{folder / 'large.sqlite'}"), folder)
        journal = offices.open(offices.create("large", "p" * 64, 0, "1", 0))
        events = crowd(people)
        journal.commit(1, [event.encode() for event in events], {})
        model = Timed(Busy())
        settings = Settings(commit_items=400, checkpoint_events=10**9)
        env = Environment(journal, FileBlobs(folder / "blobs"), model, None, DocumentRenderer(), settings)
        office = as_of(journal)
        done, cpu, wall = 0, 0.0, time.perf_counter()
        for part in range(1, 11):
            start, model.cpu = time.process_time(), 0.0
            office = Engine(env, office, lambda revision: as_of(journal, revision)).run(
                events[0].sim_time + days * part // 10 * DAY
            )
            cpu += time.process_time() - start - model.cpu
            steps, done = model.calls - done, model.calls
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            each = 1000 * (time.process_time() - start - model.cpu) / max(1, steps)
            say(f"  day {days * part // 10}: {each:.2f} ms CPU a step, {office.revision} events, peak memory {peak:.0f} MiB")
        say(f"{people} people, {days} days: {done} steps in {time.perf_counter() - wall:.0f} s, {1000 * cpu / max(1, done):.2f} ms CPU a step")
        journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:3])))
