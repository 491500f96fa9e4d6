"""The wall-time housekeeping of a running office: its outbox and its carriers, by APScheduler (DESIGN 5)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from apscheduler.schedulers.background import BackgroundScheduler

from services.carriers.desk import Desk
from services.storage.outbox import Outbox
from simulator.errors import StorageError

AT_MOST = 200
"""Items delivered before people's words are read again."""


@contextmanager
def keeping(outbox: Outbox, desk: Desk, every_s: float) -> Iterator[None]:
    """Deliver and poll every so many seconds while the block runs, in a thread of its own; the work in hand is finished."""
    scheduler = BackgroundScheduler(logger=_quiet(), timezone="UTC")
    scheduler.add_job(lambda: once(outbox, desk), "interval", seconds=every_s, coalesce=True, max_instances=1)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=True)


def once(outbox: Outbox, desk: Desk) -> None:
    """Deliver what is due and read what people wrote. A record that cannot be written is the engine's to report."""
    with suppress(StorageError):
        outbox.pump(AT_MOST)
        desk.poll()


def _quiet() -> logging.Logger:
    """A logger that tells nobody: a job that is late says nothing that a newcomer could act on."""
    logger = logging.Logger("officetown.housekeeping")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
