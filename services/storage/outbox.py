"""Effects on outside servers leave here: in order within a lane, retried with backoff, under idempotency keys.

An item is claimed in a fenced transaction, delivered, and marked. A process killed between two of these delivers again
what may have arrived already; `Delivery.again` tells the carrier, and the key lets it (or the server) see that it did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, and_, bindparam, func, or_, select, update

from services.storage.faults import fault_point
from services.storage.tables import outbox
from services.storage.writer import StoredJournal
from simulator.canonical import clean_text
from simulator.errors import WorkFailed
from simulator.ports import OutboxItem

_OPEN = ("waiting", "claimed")
_ERROR_LENGTH = 500


class Delivery(msgspec.Struct, frozen=True):
    """One attempt to deliver. `again` says that an earlier attempt may have arrived: look for `item.key` first."""

    item: OutboxItem
    attempt: int
    again: bool


Carrier = Callable[[Delivery], None]
"""Delivers, or raises: WorkFailed where the outside refuses this very item for good, anything else to try again."""


class Backoff(msgspec.Struct, frozen=True):
    """How long to wait after a failed attempt, in seconds: `first`, doubled each time, at most `most`."""

    first: int = 2
    most: int = 900

    def after(self, attempt: int) -> int:
        """Return the wait after the n-th attempt, counted from 1."""
        return min(self.most, self.first << min(attempt - 1, 30))


class Lane(msgspec.Struct, frozen=True):
    """What waits in a lane. `next_attempt` is in seconds since the epoch; `last_error` is empty while all is well."""

    lane: str
    waiting: int
    attempts: int
    next_attempt: int
    last_error: str


class Pumped(msgspec.Struct, frozen=True):
    """What one round did. `next_attempt` is when the next item is due; None when nothing waits."""

    delivered: int = 0
    failed: int = 0
    refused: int = 0
    next_attempt: int | None = None


class Outbox:
    """Delivers the outbox of an office that this process holds. `clock` gives seconds since the epoch."""

    def __init__(
        self, journal: StoredJournal, carrier: Carrier, clock: Callable[[], int], backoff: Backoff | None = None
    ) -> None:
        self._journal = journal
        self._carrier = carrier
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._pumping = threading.Lock()

    def pump(self, at_most: int = 1000) -> Pumped:
        """Deliver what is due, at most that many items. A carrier that fails stops its own lane alone.

        Raises Fenced or StorageError when the office's record cannot be written; nothing is lost by that.
        """
        counts = {"delivered": 0, "failed": 0, "refused": 0}
        with self._pumping:
            while at_most > 0:
                due = [row for row in self._heads() if row.next_attempt <= self._clock()][:at_most]
                if not due:
                    break
                at_most -= len(due)
                self._claim(due)
                for row in due:
                    counts[self._deliver(row)] += 1
            heads = self._heads()
        return Pumped(**counts, next_attempt=min((row.next_attempt for row in heads), default=None))

    def lanes(self) -> tuple[Lane, ...]:
        """Return what waits, for whoever watches; empty when everything has left."""
        table = outbox.c
        query = (
            select(table.lane, func.count())
            .where(table.office == self._journal.office_id, table.state.in_(_OPEN))
            .group_by(table.lane)
        )
        with self._journal.database.reading() as connection:
            counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(query)}
        return tuple(
            Lane(row.lane, counts.get(row.lane, 1), row.attempts, row.next_attempt, row.last_error)
            for row in self._heads()
        )

    def _heads(self) -> list[Row[Any]]:
        """Return the first open item of each lane, in the order in which they were committed."""
        table = outbox.c
        first = (
            select(table.lane, func.min(table.sequence).label("sequence"))
            .where(table.office == self._journal.office_id, table.state.in_(_OPEN))
            .group_by(table.lane)
            .subquery()
        )
        query = (
            select(outbox)
            .join(first, and_(table.lane == first.c.lane, table.sequence == first.c.sequence))
            .where(table.office == self._journal.office_id)
            .order_by(table.sequence)
        )
        with self._journal.database.reading() as connection:
            return list(connection.execute(query).all())

    def _claim(self, rows: list[Row[Any]]) -> None:
        def work(connection: Connection) -> None:
            fault_point("outbox.claim")
            connection.execute(_CLAIM, [{**self._key(row), "attempt": row.attempts + 1} for row in rows])

        self._journal.write(work)

    def _deliver(self, row: Row[Any]) -> str:
        attempt = row.attempts + 1
        item = OutboxItem(row.key, row.lane, row.kind, row.body)
        fault_point("outbox.deliver")
        try:
            self._carrier(Delivery(item, attempt, again=row.attempts > 0))
        except WorkFailed as error:
            self._mark(row, "refused", 0, _shown(error))
            return "refused"
        except Exception as error:  # noqa: BLE001 - a run never depends on a carrier: whatever it raises, the item waits
            self._mark(row, "claimed", self._clock() + self._backoff.after(attempt), _shown(error))
            return "failed"
        fault_point("outbox.delivered")
        self._mark(row, "done", 0, "")
        return "delivered"

    def _mark(self, row: Row[Any], state: str, next_attempt: int, error: str) -> None:
        values = {**self._key(row), "new_state": state, "due": next_attempt, "error": error}

        def work(connection: Connection) -> None:
            fault_point("outbox.mark")
            connection.execute(_MARK, values)

        self._journal.write(work)

    def _key(self, row: Row[Any]) -> dict[str, Any]:
        return {"o": self._journal.office_id, "k": row.key}


_ITEM = and_(
    outbox.c.office == bindparam("o"),
    outbox.c.key == bindparam("k"),
    or_(*(outbox.c.state == state for state in _OPEN)),
)
_CLAIM = update(outbox).where(_ITEM).values(state="claimed", attempts=bindparam("attempt"))
_MARK = (
    update(outbox)
    .where(_ITEM)
    .values(state=bindparam("new_state"), next_attempt=bindparam("due"), last_error=bindparam("error"))
)


def _shown(error: BaseException) -> str:
    return clean_text(f"{type(error).__name__}: {error}".strip())[:_ERROR_LENGTH]
