"""The keys: the operator's, and those issued to people, of which only hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from orchestrator.web.caller import OPERATOR, Caller
from services.storage.wholefiles import write_whole
from simulator.errors import StorageError, UnknownReference

PREFIX = "person-"


class Issued(msgspec.Struct, frozen=True):
    """A key that was issued. `id` names it for revoking; `digest` is the SHA-256 of the key itself."""

    id: str
    digest: str
    office: str
    person: str
    issued_at: int


class Keys:
    """Who holds which key. `operator` empty: whoever brings no key is the operator (only ever on the loopback).

    Issued keys are in `file`, readable by its owner alone, so that they outlive a restart. Thread-safe.
    """

    def __init__(self, operator: str, file: Path, now: Callable[[], int]) -> None:
        self._operator = operator
        self._file = file
        self._now = now
        self._lock = threading.Lock()
        self._issued: dict[str, Issued] = {key.digest: key for key in self._read()}

    @property
    def required(self) -> bool:
        """Whether a call without any key is refused."""
        return bool(self._operator)

    def caller(self, key: str | None) -> Caller | None:
        """Return whose key it is; None for one that is nobody's."""
        if not key:
            return None if self.required else OPERATOR
        if self._operator and hmac.compare_digest(_digest(key), _digest(self._operator)):
            return OPERATOR
        found = self._issued.get(_digest(key))
        return None if found is None else Caller(found.office, found.person)

    def issue(self, office: str, person: str) -> tuple[str, Issued]:
        """Make a key for a person of an office; it is told here and never again."""
        key = PREFIX + secrets.token_urlsafe(24)
        issued = Issued(secrets.token_hex(4), _digest(key), office, person, self._now())
        with self._lock:
            self._issued[issued.digest] = issued
            self._write()
        return key, issued

    def issued(self, office: str) -> tuple[Issued, ...]:
        """Return the keys issued for an office, the oldest first."""
        return tuple(key for key in list(self._issued.values()) if key.office == office)

    def revoke(self, office: str, key_id: str) -> None:
        """Take a key back. Raises UnknownReference where none has that id."""
        with self._lock:
            found = [key for key in self._issued.values() if key.office == office and key.id == key_id]
            if not found:
                raise UnknownReference(f"No key of this office is called {key_id!r}.")
            for key in found:
                del self._issued[key.digest]
            self._write()

    def _read(self) -> tuple[Issued, ...]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=tuple[Issued, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError, msgspec.ValidationError) as fault:
            raise StorageError(
                f"The keys in {self._file} cannot be read ({type(fault).__name__}). Remove the file and issue them anew."
            ) from fault

    def _write(self) -> None:
        try:
            write_whole(self._file, msgspec.json.encode(list(self._issued.values())))
        except OSError as fault:
            raise StorageError(f"The keys cannot be kept in {self._file} ({fault.strerror}).") from fault


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
