"""The offices of a database: made, found, opened under a lease, read without one, forked, removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, exists, func, insert, literal, select, update

from services.storage.database import Database
from services.storage.faults import fault_point
from services.storage.leases import Lease, take_lease
from services.storage.reader import JournalReader
from services.storage.tables import bodies, events, model_calls, offices, tool_results
from services.storage.wholefiles import sync_folder
from services.storage.writer import StoredJournal
from simulator.canonical import canonical, clean_name, sha256
from simulator.errors import StorageError, UnknownReference, UsageError

_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_LISTED = 6


class OfficeRow(msgspec.Struct, frozen=True):
    """What is known of an office without folding it. `created` is in seconds since the epoch."""

    id: str
    name: str
    created: int
    package_sha256: str
    engine_version: str
    seed: int
    parent: str | None
    parent_revision: int | None
    epoch: int
    head: int
    status: bytes = b""


class Offices:
    """All offices of one database. `lock_dir` holds the lock files where the database is SQLite.

    `new_id` supplies ids; without it an id is derived from what the office is made of and how many there are.
    """

    def __init__(self, database: Database, lock_dir: Path, new_id: Callable[[], str] | None = None) -> None:
        self._database = database
        self._lock_dir = lock_dir
        self._new_id = new_id

    @property
    def database(self) -> Database:
        """The database these offices are in."""
        return self._database

    def create(
        self,
        name: str,
        package_sha256: str,
        seed: int,
        engine_version: str,
        created: int,
        parent: tuple[str, int] | None = None,
        office_id: str | None = None,
    ) -> str:
        """Make an office with an empty log and return its id. `parent` is (id, revision) of what it was forked from."""
        with self._database.writing() as connection:
            return self.insert(connection, name, package_sha256, seed, engine_version, created, parent, office_id)

    def insert(
        self,
        connection: Connection,
        name: str,
        package_sha256: str,
        seed: int,
        engine_version: str,
        created: int,
        parent: tuple[str, int] | None = None,
        office_id: str | None = None,
        head: int = 0,
        status: bytes = b"",
    ) -> str:
        """As `create`, inside a transaction that also brings the office's content, up to revision `head`, and its status."""
        name = clean_name(name)
        if not name:
            raise UsageError("An office needs a name.")
        if not -(2**63) <= seed < 2**63:
            raise UsageError(f"The seed {seed} does not fit into 64 bits. Choose a smaller one.")
        office_id = office_id or self._fresh_id(connection, (name, package_sha256, seed, engine_version, created))
        if not office_id or not set(office_id) <= _ID or office_id.startswith("-"):
            raise UsageError(f"{office_id!r} cannot be an office's id: use lower-case letters, digits, '-' and '_'.")
        if _known(connection, office_id):
            raise UsageError(f"There is an office {office_id} already.")
        values = {
            "id": office_id,
            "name": name,
            "created": created,
            "package_sha256": package_sha256,
            "engine_version": engine_version,
            "seed": seed,
            "parent": parent[0] if parent else None,
            "parent_revision": parent[1] if parent else None,
            "head": head,
            "status": status,
        }
        connection.execute(insert(offices), values)
        return office_id

    def list(self) -> tuple[OfficeRow, ...]:
        """Return all offices, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(select(offices).order_by(offices.c.created, offices.c.id)).all()
        return tuple(_office(row) for row in rows)

    def find(self, reference: str) -> OfficeRow:
        """Return the office with this id, else with this name, else the only one whose id begins so.

        Raises UnknownReference when there is none and UsageError when there are several.
        """
        if not reference:
            raise UsageError("Name an office: its id, the beginning of its id, or its name.")
        rows = self.list()
        name = clean_name(reference)
        for matching in (
            [row for row in rows if row.id == reference],
            [row for row in rows if row.name == name],
            [row for row in rows if row.id.startswith(reference)],
        ):
            if len(matching) == 1:
                return matching[0]
            if matching:
                raise UsageError(f"{reference!r} may be any of {_some(matching)}. Give more of the id.")
        known = f"There are {_some(rows)}." if rows else "There is none yet."
        raise UnknownReference(f"No office is called {reference!r}. {known}")

    def remove(self, office_id: str) -> None:
        """Remove an office and all its rows; its files go with the next collection. Raises OfficeBusy while it runs."""
        self._require(office_id)
        lease = take_lease(self._database, self._lock_dir, office_id)
        try:
            with self._database.writing() as connection:
                fault_point("offices.remove")
                connection.execute(delete(offices).where(offices.c.id == office_id))
        finally:
            lease.release()

    def open(self, office_id: str) -> StoredJournal:
        """Take the office over for running: lock, then a new epoch. Raises OfficeBusy while another process has it."""
        self._require(office_id)
        lease = take_lease(self._database, self._lock_dir, office_id)
        try:
            return self._take_over(office_id, lease)
        # Whatever stops the opening, the lock is let go; it is raised on.
        except BaseException:
            lease.release()
            raise

    def read(self, office_id: str) -> JournalReader:
        """Return the office's record for reading only; no lease is needed."""
        self._require(office_id)
        return JournalReader(self._database, office_id)

    @contextmanager
    def all_held(self) -> Iterator[tuple[OfficeRow, ...]]:
        """Hold every office, so that nothing can begin to use a file meanwhile (RULE 25). Raises OfficeBusy."""
        with ExitStack() as stack:
            rows = self.list()
            for row in rows:
                stack.callback(take_lease(self._database, self._lock_dir, row.id).release)
            yield rows

    def fork(
        self,
        parent_id: str,
        at_revision: int,
        name: str,
        created: int,
        office_id: str | None = None,
        keep_tape: Callable[[str], bool] | None = None,
        status: bytes = b"",
    ) -> str:
        """Copy an office's log up to a revision, byte for byte, with its bodies and its tape; return the new id.

        The engine then appends `forked`. `keep_tape` tells by activation id which answers come along (default: all).
        The outbox stays behind: a mail sent before the fork is not sent again. The parent may be running. `status` is
        what the parent's says of the runs that made these revisions; what it holds is its writer's business.
        """
        parent = self._require(parent_id)
        if not 0 <= at_revision <= parent.head:
            raise UsageError(
                f"Office {parent_id} has revisions 0 to {parent.head}; it cannot be forked at {at_revision}."
            )
        made_of = (name, parent.package_sha256, parent.seed, parent.engine_version, created)
        with self._database.writing() as connection:
            child = self.insert(connection, *made_of, (parent_id, at_revision), office_id, at_revision, status)
            _copy(connection, events, parent_id, child, events.c.revision <= at_revision)
            _copy(connection, bodies, parent_id, child)
            fault_point("offices.fork")
            answered = model_calls.c.state == "answered"
            _copy(connection, model_calls, parent_id, child, answered, zeroed=("lost_micros",))
            _copy(connection, tool_results, parent_id, child)
            if keep_tape is not None:
                _drop_tape(connection, child, keep_tape)
            fault_point("offices.fork.commit")
        return child

    def _require(self, office_id: str) -> OfficeRow:
        with self._database.reading() as connection:
            row = connection.execute(select(offices).where(offices.c.id == office_id)).first()
        if row is None:
            raise UnknownReference(f"There is no office with the id {office_id!r}.")
        return _office(row)

    def _take_over(self, office_id: str, lease: Lease) -> StoredJournal:
        epoch = update(offices).where(offices.c.id == office_id).values(epoch=offices.c.epoch + 1)
        with self._database.writing() as connection:
            fault_point("offices.take_over")
            row = connection.execute(epoch.returning(offices.c.epoch, offices.c.head)).first()
            if row is None:
                raise UnknownReference(f"There is no office with the id {office_id!r}.")
            last = connection.execute(select(func.max(events.c.revision)).where(events.c.office == office_id)).scalar()
            if (last or 0) != row.head:
                raise StorageError(
                    f"Office {office_id}: the log ends at {last or 0}, its head says {row.head}. Restore a backup."
                )
        if self._database.path is not None:
            # SQLite has just created a write-ahead log there: its name must last as its content does.
            sync_folder(self._database.path.parent)
        return StoredJournal(self._database, office_id, row.epoch, row.head, lease)

    def _fresh_id(self, connection: Connection, made_of: Sequence[object]) -> str:
        if self._new_id is not None:
            return self._new_id()
        count = connection.execute(select(func.count()).select_from(offices)).scalar_one()
        while True:
            office_id = sha256(canonical((made_of, count)))[:12]
            if not _known(connection, office_id):
                return office_id
            count += 1


def _known(connection: Connection, office_id: str) -> bool:
    return bool(connection.execute(select(exists().where(offices.c.id == office_id))).scalar())


def _office(row: Row[Any]) -> OfficeRow:
    return OfficeRow(**{name: row._mapping[name] for name in OfficeRow.__struct_fields__})


def _some(rows: Sequence[OfficeRow]) -> str:
    shown = ", ".join(f"{row.id} ({row.name})" for row in rows[:_LISTED])
    return shown if len(rows) <= _LISTED else f"{shown} and {len(rows) - _LISTED} more"


def _copy(
    connection: Connection, table: Any, parent: str, child: str, *where: Any, zeroed: tuple[str, ...] = ()
) -> None:
    names = [column.name for column in table.columns]
    values = [literal(child) if name == "office" else literal(0) if name in zeroed else table.c[name] for name in names]
    connection.execute(insert(table).from_select(names, select(*values).where(table.c.office == parent, *where)))


def _drop_tape(connection: Connection, office_id: str, keep: Callable[[str], bool]) -> None:
    for table in (model_calls, tool_results):
        activations = select(table.c.activation).where(table.c.office == office_id).distinct()
        dropped = [{"a": a} for a in connection.execute(activations).scalars() if not keep(a)]
        if dropped:
            statement = delete(table).where(table.c.office == office_id, table.c.activation == bindparam("a"))
            connection.execute(statement, dropped)
