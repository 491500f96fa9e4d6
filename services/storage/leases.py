"""The lock that one process holds on an office for life (RULE 24). Being fenced by the epoch is what makes it safe."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from services.storage.database import Database
from simulator.errors import OfficeBusy, StorageError


class Lease(Protocol):
    """Holds one office. `renew` tells whether it is still held, taking it again where the session broke."""

    def renew(self) -> bool: ...
    def release(self) -> None: ...


def busy(office_id: str, holder: str = "") -> OfficeBusy:
    """Return the error for an office that another process holds."""
    who = f" ({holder})" if holder else ""
    return OfficeBusy(
        f"Office {office_id} is in use by another process{who}. "
        "Wait until it ends or stop it; reading it works meanwhile."
    )


class FileLease:
    """A lock on a file of the lock folder; the kernel drops it when the process dies, however it dies."""

    def __init__(self, folder: Path, office_id: str) -> None:
        path = folder / f"{office_id}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"{path}: the lock file cannot be opened ({error.strerror}). Check the folder's rights."
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 40, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise busy(office_id, holder) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"process {os.getpid()}\n".encode(), 0)

    def renew(self) -> bool:
        """Return True: the kernel never takes a file lock away."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Let go; the file stays, since removing it would race with the next holder."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


def lock_key(office_id: str) -> int:
    """Return the number of an office's advisory lock."""
    return int.from_bytes(hashlib.sha256(f"officetown:{office_id}".encode()).digest()[:8], "big", signed=True)


_SESSION_HOLDER = text(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND ((classid::bigint << 32) | objid::bigint) = CAST(:key AS bigint) LIMIT 1"
)


# A session ends on the server a moment after its process: who starts again at once waits for that moment.
_PATIENCE = text("SET lock_timeout = '1500ms'")
_LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's code for a lock that was waited for in vain


class SessionLease:
    """A PostgreSQL advisory lock on a session of its own, which ends with the process or its connection."""

    def __init__(self, database: Database, office_id: str) -> None:
        self._database = database
        self._key = lock_key(office_id)
        self._session: Connection | None = None
        with database.errors("could not be locked"):
            if not self._take():
                raise busy(office_id)

    def renew(self) -> bool:
        """Return whether the lock is held, taken anew if the session broke. Raises StorageError: server down."""
        try:
            if self._session is not None:
                self._session.execute(text("SELECT 1"))
                return True
        except DBAPIError:
            self.release()
        with self._database.errors("could not be locked again"):
            return self._take()

    def release(self) -> None:
        """End the session, and with it the lock."""
        session, self._session = self._session, None
        if session is not None:
            # A pooled session would keep the lock: end it for good.
            session.invalidate()
            session.close()

    def _take(self) -> bool:
        session = self._database.session()
        try:
            session.execute(_PATIENCE)
            session.execute(text("SELECT pg_advisory_lock(:key)"), {"key": self._key})
        # Whatever stops the question, the session may hold the lock already: end it; what is not the lock's own answer is raised on.
        except BaseException as error:
            session.invalidate()
            session.close()
            if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") == _LOCK_NOT_AVAILABLE:
                return False
            raise
        self._session = session
        return True


def take_lease(database: Database, lock_dir: Path, office_id: str) -> Lease:
    """Take the lock of an office or raise OfficeBusy."""
    return FileLease(lock_dir, office_id) if database.is_sqlite else SessionLease(database, office_id)


def holder(database: Database, lock_dir: Path, office_id: str) -> str:
    """Return in words which process holds an office, without touching its lock; empty where none does, or nobody can tell."""
    if database.is_sqlite:
        return _file_holder(lock_dir / f"{office_id}.lock")
    with database.reading() as connection:
        pid = connection.execute(_SESSION_HOLDER, {"key": lock_key(office_id)}).scalar()
    return f"database session {pid}" if pid is not None else ""


def _file_holder(path: Path) -> str:
    """The kernel lists every lock with the inode of its file; a lock tried to find out would turn others away meanwhile."""
    try:
        inode = str(path.stat().st_ino)
        table = Path("/proc/locks").read_text().splitlines()
        for line in table:
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                return path.read_text(errors="replace").strip() or "another process"
    except OSError:
        return ""
    return ""
