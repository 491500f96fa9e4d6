"""Writing an office's record: every transaction is fenced by the office's epoch and head (RULE 24).

One lock, one connection. When the answer to a COMMIT is lost, the head is read before anything else: it tells whether
the events are in. Writes that move no head (tape, outbox) are built to be repeated without effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.exc import DBAPIError

from services.storage import statements, tape
from services.storage.database import Database
from services.storage.faults import LostAnswer, committed, fault_point
from services.storage.leases import Lease
from services.storage.reader import JournalReader
from services.storage.statements import Statements
from services.storage.tables import cursors, offices, outbox
from simulator.canonical import sha256
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import Fenced, StorageError, TapeMismatch, UsageError
from simulator.ports import OutboxItem, TapeTool

_ENQUEUED = 500
"""Effects put into the outbox in one transaction."""
_REMEMBERED = 100_000
_ADVANCE = (
    update(offices)
    .where(offices.c.id == bindparam("o"), offices.c.epoch == bindparam("e"), offices.c.head == bindparam("h"))
    .values(head=offices.c.head + bindparam("n"))
    .returning(offices.c.head)
)


class _Begun:
    """A call waiting to be noted; whoever holds the lock notes all that wait in one transaction."""

    __slots__ = ("done", "error", "row")

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.done = False
        self.error: BaseException | None = None


class StoredJournal(JournalReader):
    """The `Journal` of an office whose lease this process holds. Safe for threads.

    After Fenced, every further write raises Fenced. After any other StorageError it stays usable: the next write first
    finds out what became of the last one.
    """

    def __init__(self, database: Database, office_id: str, epoch: int, head: int, lease: Lease) -> None:
        super().__init__(database, office_id)
        self._epoch = epoch
        self._head = head
        self._lease = lease
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._statements = Statements(sqlite=database.is_sqlite)
        self._encoder = tape.Encoder()
        self._known: set[str] = set()
        self._waiting: list[_Begun] = []
        self._waiting_lock = threading.Lock()
        self._attempts = 0
        self._sequence: int | None = None
        self._doubt: int | None = None
        self._landed: tuple[int, list[bytes]] | None = None
        self._ended = ""

    @property
    def head(self) -> int:
        """Revision of the last event known to be committed; 0 for an empty log."""
        return self._head

    @property
    def epoch(self) -> int:
        """Counts how often the office was opened for running."""
        return self._epoch

    def commit(
        self, first_revision: int, events: Sequence[bytes], bodies: Mapping[str, str], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Commit events of contiguous revisions, the texts they refer to, and outbox items, in one transaction.

        Raises StorageError when the outcome is "not committed" or unknown; calling again with the same arguments is
        safe in both cases. Raises Fenced when another process took the office over.
        """
        texts = {digest: text.encode() for digest, text in bodies.items()}
        for digest, data in texts.items():
            if sha256(data) != digest:
                raise UsageError(f"The text body filed under {digest} has another hash.")
        with self._lock:
            self._settle()
            landed, self._landed = self._landed, None
            if first_revision <= self._head and landed == (first_revision, list(events)):
                return
            if first_revision != self._head + 1:
                raise UsageError(f"Event {first_revision} cannot follow event {self._head} of office {self._office}.")
            rows = [{"office": self._office, "revision": first_revision + i, "data": e} for i, e in enumerate(events)]
            new = {digest: tape.pack(data) for digest, data in texts.items() if digest not in self._known}

            def work(connection: Connection) -> None:
                if rows:
                    connection.execute(statements.INSERT_EVENTS, rows)
                self._insert_bodies(connection, new)
                self._insert_outbox(connection, outbox)

            try:
                self._write(len(rows), work)
            # Whatever stopped it: should it turn out to be in, then saying it again is no fault of the caller.
            except BaseException:
                self._landed = (first_revision, list(events))
                raise
            self._remember(new)

    def record(self, calls: Iterable[tuple[ModelRequest, ModelResponse]], tools: Iterable[TapeTool] = ()) -> None:
        """Store answers and tool results in one transaction; the blobs of the homes are in the blob store before.

        Recording the same entry twice changes nothing; another answer for an answered call raises TapeMismatch.
        """
        new: dict[str, bytes] = {}

        def body(digest: str, data: Callable[[], bytes]) -> None:
            if digest not in self._known and digest not in new:
                new[digest] = tape.pack(data())

        call_rows = [{"office": self._office, **self._encoder.call(*pair, body)} for pair in calls]
        tool_rows = [{"office": self._office, **self._encoder.tool(tool, body)} for tool in tools]
        if not call_rows and not tool_rows:
            return

        def work(connection: Connection) -> None:
            self._insert_bodies(connection, new)
            for row in call_rows:
                self._insert_answer(connection, row)
            for row in tool_rows:
                self._insert_tool(connection, row)

        with self._lock:
            self._write(0, work)
            self._remember(new)

    def begin_call(self, request: ModelRequest, worst_case_micros: int) -> None:
        """Note durably that a call is about to be made (RULE 2). Calls begun at one time share a transaction."""
        begun = _Begun({"office": self._office, **tape.begun_row(request, worst_case_micros)})
        with self._waiting_lock:
            self._waiting.append(begun)
        with self._lock:
            if not begun.done:
                self._begin_waiting()
        if begun.error is not None:
            raise begun.error

    def release_call(self, request: ModelRequest, charged_micros: int = 0) -> None:
        """Note that a begun call ended without an answer, and what it was charged: nothing, or a billed failure."""
        activation, ordinal = request.call
        key = {"o": self._office, "a": activation, "n": ordinal, "charged": charged_micros}
        with self._lock:
            self._write(0, lambda connection: connection.execute(statements.RELEASE_CALL, key))

    def save_checkpoint(self, revision: int, fold_version: str, data: bytes) -> None:
        """Keep a fold's state as a cache (RULE 21); one there already is replaced."""
        row = {"office": self._office, "revision": revision, "fold_version": fold_version, "data": tape.pack(data)}
        with self._lock:
            self._write(0, lambda connection: connection.execute(self._statements.checkpoint, row))

    def cursor(self, carrier: str) -> str:
        """Return how far a server was read; empty if it never was."""
        query = select(cursors.c.cursor).where(cursors.c.office == self._office, cursors.c.carrier == carrier)
        with self._database.reading() as connection:
            stored: bytes | None = connection.execute(query).scalar()
        return (stored or b"").decode()

    def set_cursor(self, carrier: str, cursor: str) -> None:
        """Keep how far a server was read."""
        row = {"office": self._office, "carrier": carrier, "cursor": cursor.encode()}
        with self._lock:
            self._write(0, lambda connection: connection.execute(self._statements.cursor, row))

    def set_status(self, status: bytes) -> None:
        """Keep what this run has to say about itself: shown beside the office, no part of its log."""
        values = {"o": self._office, "status": status}
        with self._lock:
            self._write(0, lambda connection: connection.execute(statements.SET_STATUS, values))

    def enqueue(self, items: Sequence[OutboxItem]) -> int:
        """Put effects into the outbox that no commit of now brings: an office is carried over to a new server. What the
        outbox has under its key already stays as it is. Return how many were new."""
        with self._lock:
            with self._database.reading() as connection:
                known = set(connection.execute(select(outbox.c.key).where(outbox.c.office == self._office)).scalars())
            new = [item for item in items if item.key not in known]
            for first in range(0, len(new), _ENQUEUED):
                some = new[first : first + _ENQUEUED]
                self._write(0, lambda connection, some=some: self._insert_outbox(connection, some))  # type: ignore[misc]
            return len(new)

    def write(self, work: Callable[[Connection], Any]) -> None:
        """Run `work` in a fenced transaction that moves no head. It may run twice, so it must be idempotent."""
        with self._lock:
            self._write(0, work)

    def close(self) -> None:
        """Leave the office: no write is in flight afterwards, and another process may take it."""
        with self._lock:
            if not self._ended:
                self._ended = f"Office {self._office} was closed by this process; open it again."
            self._drop_connection()
            self._lease.release()

    # -- the fenced transaction ---------------------------------------------------------------------------------------

    def _write(self, n: int, work: Callable[[Connection], Any]) -> None:
        """Commit `work` and `n` events. A broken connection is tried once more; what is in doubt is settled first."""
        self._settle()
        try:
            self._transaction(n, work)
        except (DBAPIError, OSError, LostAnswer) as error:
            self._drop_connection()
            before = self._head
            if self._doubt is None:
                # Nothing was committed, but the session that holds the lease may have broken with this one.
                self._doubt = 0
            with self._database.errors("could not be written"):
                fault_point("journal.after_failure")
            self._settle()
            if n and self._head == before + n:
                return
            if isinstance(error, OSError):
                raise self._database.error("could not be written", error) from error
            self._again(n, work)

    def _again(self, n: int, work: Callable[[Connection], Any]) -> None:
        before = self._head
        try:
            self._transaction(n, work)
        except (DBAPIError, OSError, LostAnswer) as error:
            self._drop_connection()
            self._settle()
            if n and self._head == before + n:
                return
            raise self._database.error("could not be written", error) from error

    def _transaction(self, n: int, work: Callable[[Connection], Any]) -> None:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._database.writer()
        transaction = connection.begin()
        try:
            fault_point("journal.begin")
            key = {"o": self._office, "e": self._epoch, "h": self._head, "n": n}
            if connection.execute(_ADVANCE, key).first() is None:
                self._fence()
            work(connection)
            fault_point("journal.before_commit")
        # Whatever stops the transaction, an interruption too, it is rolled back; it is raised on.
        except BaseException:
            self._drop_connection()
            raise
        self._doubt = n
        transaction.commit()
        committed()
        fault_point("journal.after_commit")
        self._head += n
        self._doubt = None

    def _settle(self) -> None:
        """Find out what became of a commit whose answer was lost; refuse when this process has no say any more."""
        if self._ended:
            raise (StorageError if self._ended.endswith("again.") else Fenced)(self._ended)
        if self._doubt is None:
            return
        with self._database.errors("could not be read"):
            fault_point("journal.settle")
        self._drop_connection()
        if not self._lease.renew():
            self._fence()
        head, epoch = self._stored_head()
        if epoch != self._epoch or head not in (self._head, self._head + self._doubt):
            self._fence()
        self._head = head
        self._sequence = None
        self._doubt = None

    def _fence(self) -> None:
        self._ended = (
            f"Office {self._office} was taken over by another process; this one has stopped writing. "
            "Nothing that was committed is lost: look at the other process."
        )
        raise Fenced(self._ended)

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        with self._waiting_lock:
            batch, self._waiting = self._waiting, []
        for begun in batch:
            self._attempts += 1
            begun.row["attempt"] = f"{self._epoch}.{self._attempts}"
        try:
            self._write(0, lambda c: [c.execute(self._statements.begin_call, begun.row) for begun in batch])
        # Whatever stops the leader's transaction, those who wait on it must hear of it; it is raised on.
        except BaseException as error:
            for begun in batch:
                begun.error = error
            raise
        finally:
            for begun in batch:
                begun.done = True

    def _insert_bodies(self, connection: Connection, new: Mapping[str, bytes]) -> None:
        if new:
            rows = [{"office": self._office, "sha256": digest, "data": data} for digest, data in new.items()]
            connection.execute(self._statements.body, rows)

    def _insert_answer(self, connection: Connection, row: dict[str, Any]) -> None:
        if connection.execute(self._statements.answer, row).rowcount == 1:
            return
        stored = connection.execute(statements.STORED_ANSWER, row).one()
        if stored.fingerprint != row["fingerprint"] or stored.response != row["response"]:
            raise _other(row, "answer")

    def _insert_tool(self, connection: Connection, row: dict[str, Any]) -> None:
        if connection.execute(self._statements.tool, row).rowcount == 1:
            return
        stored = connection.execute(statements.STORED_TOOL, row).one()
        if tuple(stored) != (row["fingerprint"], row["home_sha256"], row["data"]):
            raise _other(row, "tool result")

    def _insert_outbox(self, connection: Connection, items: Sequence[OutboxItem]) -> None:
        if not items:
            return
        if self._sequence is None:
            last = select(func.coalesce(func.max(outbox.c.sequence), 0)).where(outbox.c.office == self._office)
            self._sequence = int(connection.execute(last).scalar_one())
        for item in items:
            fault_point("outbox.insert")
            self._sequence += 1
            row: dict[str, Any] = {
                "office": self._office,
                "key": item.key,
                "lane": item.lane,
                "kind": item.kind,
                "body": item.body,
            }
            row["sequence"] = self._sequence
            if connection.execute(self._statements.outbox, row).rowcount != 1:
                stored = connection.execute(statements.STORED_ITEM, row).one()
                if tuple(stored) != (item.lane, item.kind, item.body):
                    raise UsageError(f"The outbox of office {self._office} holds another effect under {item.key!r}.")

    def _remember(self, new: Iterable[str]) -> None:
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known.update(new)


def _other(row: Mapping[str, Any], what: str) -> TapeMismatch:
    return TapeMismatch(
        f"Activation {row['activation']}, call {row['ordinal']}: another {what} is on the tape already. It stays."
    )
