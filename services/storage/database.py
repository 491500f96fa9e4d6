"""A database by URL: SQLite by default, PostgreSQL where the URL says so (RULE 23).

Used for the first time, a database is brought up to the newest migration. Writers are explicit transactions (SQLite:
BEGIN IMMEDIATE); readers run each statement on its own, so that a slow reader never holds a snapshot open.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from services.storage.faults import LostAnswer, committed
from simulator.errors import StorageError, UsageError

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
_MIGRATION_LOCK = 0x0FF1CE70


class Database:
    """One database. Making the object touches nothing; the first use connects and upgrades.

    `busy_timeout_s` is how long a SQLite writer waits for another one. `revision` is the migration to stop at (tests).
    """

    def __init__(self, url: str, busy_timeout_s: float = 30.0, revision: str = "head") -> None:
        self._url = _normal(url)
        self._busy_ms = int(busy_timeout_s * 1000)
        self._revision = revision
        self._lock = threading.Lock()
        self._engines: tuple[Engine, Engine] | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether this is the embedded database."""
        return self._url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database."""
        return Path(str(self._url.database)) if self.is_sqlite else None

    def __str__(self) -> str:
        return self._url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection on which each statement stands for itself. Errors of the database become StorageError."""
        with self.errors("could not be read"), self._ready()[1].connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend a connection inside a write transaction that commits when the block ends well."""
        with self.errors("could not be written"), self._ready()[0].connect() as connection:
            with connection.begin():
                yield connection
            committed()

    def writer(self) -> Connection:
        """Return a write connection of one's own; its owner begins, commits and closes. Raises DBAPIError."""
        return self._ready()[0].connect()

    def session(self) -> Connection:
        """Return a connection of one's own that never opens a transaction, for locks that live as long as it."""
        return self._ready()[1].connect()

    def close(self) -> None:
        """Drop every pooled connection."""
        with self._lock:
            engines, self._engines = self._engines, None
        for engine in engines or ():
            engine.dispose()

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn errors of the driver and the disk into StorageError with plain words."""
        try:
            yield
        except (DBAPIError, OSError, LostAnswer) as error:
            raise self.error(what, error) from error

    def error(self, what: str, error: BaseException) -> StorageError:
        """Return a StorageError that names the database, what failed, and what to do."""
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        reason = " ".join(str(cause).split()) or type(cause).__name__
        advice = "Check the folder's rights and its free space." if self.is_sqlite else "Check that the server is up."
        return StorageError(f"The database {self} {what}: {reason}. {advice}")

    def _ready(self) -> tuple[Engine, Engine]:
        engines = self._engines
        if engines is None:
            with self._lock:
                engines = self._engines
                if engines is None:
                    with self.errors("could not be opened"), self._alone():
                        engines = self._open()
                    self._engines = engines
        return engines

    def _open(self) -> tuple[Engine, Engine]:
        if self.is_sqlite:
            connected: Callable[[Any, Any], None] = self._sqlite_connected
            arguments: dict[str, Any] = {}
        else:
            connected = _postgres_connected
            arguments = {} if "connect_timeout" in self._url.query else {"connect_timeout": 10}
        writer = create_engine(self._url, connect_args=arguments)
        # After a restart of the server every pooled session is dead: a reader asks first, a writer tries twice.
        ask = not self.is_sqlite
        reader = create_engine(self._url, connect_args=arguments, isolation_level="AUTOCOMMIT", pool_pre_ping=ask)
        for engine in (writer, reader):
            event.listen(engine, "connect", connected)
        if self.is_sqlite:
            event.listen(writer, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        try:
            upgrade(writer, self._revision)
        # Whatever stops the opening, no pool stays behind; it is raised on.
        except BaseException:
            writer.dispose()
            reader.dispose()
            raise
        return writer, reader

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time open a SQLite file: turning the log to WAL does not wait for others, it fails."""
        if self.path is None:
            yield
            return
        self._make_file()
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _make_file(self) -> None:
        path = self.path
        if path is None or str(path) in ("", ":memory:", "None"):
            raise UsageError("An office lives in a file: give a database such as sqlite:////home/me/offices.db.")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            # The write-ahead log inherits the file's rights: no other uid may read any of it (RULE 30).
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))

    def _sqlite_connected(self, connection: Any, _record: Any) -> None:
        # The driver's own idea of when a transaction begins would turn BEGIN IMMEDIATE into a deferred one.
        connection.isolation_level = None
        for pragma in (f"busy_timeout={self._busy_ms}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()


def _postgres_connected(connection: Any, _record: Any) -> None:
    # A server configured for speed would acknowledge what it has not written yet.
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute("SET synchronous_commit TO on")
    connection.autocommit = autocommit


def _normal(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise UsageError(
            "DATABASE_URL cannot be read. Write sqlite:////PATH or postgresql://USER@HOST/NAME."
        ) from error
    match parsed.get_backend_name():
        case "sqlite":
            return parsed.set(drivername="sqlite+pysqlite")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            raise UsageError(f"DATABASE_URL names {other!r}; OfficeTown works with sqlite and postgresql.")


def configuration() -> Config:
    """Return Alembic's configuration without a file of its own."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring a database up to a migration; refuses one that a newer OfficeTown has made. Safe when two start at once."""
    config = configuration()
    scripts = ScriptDirectory.from_config(config)
    wanted = scripts.get_current_head() if revision == "head" else revision
    with engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise StorageError(
            f"This database was made by a newer OfficeTown (its shape is {found!r}). Install that version."
        )
    if found == wanted:
        return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, wanted or "head")
