"""One office as one file: its log, bodies, tape, and every file these name, each verified by hash.

A zip with fixed names: `events`, `calls`, `tools`, `bodies` (frames: 4 bytes of length, then the bytes), `blobs/HASH`,
and `manifest.json`, which names the SHA-256 of each. It is never extracted to a path: members are read by name, what
is not on the list is refused, sizes are bounded before anything is read. The outbox stays behind: a copy must not send
again what the original sends.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
from sqlalchemy import Table, insert, select, tuple_

from services.storage import tape
from services.storage.faults import fault_point
from services.storage.journal import Offices
from services.storage.reader import CHUNK, JournalReader
from services.storage.tables import bodies, events, model_calls, tool_results
from simulator.canonical import canonical, sha256
from simulator.conversation import ModelResponse
from simulator.errors import CorruptStore, StorageError, UsageError
from simulator.ports import BlobStore, TreeEntry

FORMAT = 2
# 1 did not bring the office's status along.
_READ = (1, FORMAT)
_STATUS_BYTES = 2**20
_DATE = (1980, 1, 1, 0, 0, 0)
_BLOB = re.compile(r"blobs/([0-9a-f]{64})")
_TABLES = ("events", "calls", "tools", "bodies")
_MANIFEST = "manifest.json"


class Limits(msgspec.Struct, frozen=True):
    """What an archive may hold: bytes in all, members, bytes a frame and bytes a file."""

    total: int = 32 * 1024**3
    members: int = 2_000_000
    frame: int = 64 * 1024**2
    blob: int = 1024**3


class Member(msgspec.Struct, frozen=True):
    """A member's hash and size."""

    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an archive says of itself. `head` is the revision of its last event; `status` is the office's, such as the
    models it was run with."""

    format: int
    office: str
    name: str
    created: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    package_sha256: str
    engine_version: str
    seed: int
    parent: str | None
    parent_revision: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None
    head: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    members: dict[str, Member]
    status: Annotated[bytes, msgspec.Meta(max_length=_STATUS_BYTES)] = b""


def pack(offices: Offices, office_id: str, blobs: BlobStore, path: Path) -> Manifest:
    """Write an office to `path` (replaced whole, or not at all) and return its manifest. The office may be running.

    Raises CorruptStore where something the log names is damaged, and StorageError where the disk refuses.
    """
    office = offices.find(office_id)
    reader = offices.read(office.id)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _Writer(temporary) as archive:
            _write_tables(archive, reader, office.head)
            for digest in sorted({office.package_sha256, *reader.referenced()}):
                if re.fullmatch(r"[0-9a-f]{64}", digest) and blobs.has(digest):
                    archive.add(f"blobs/{digest}", (blobs.get(digest),), framed=False)
            own = {name: getattr(office, name) for name in Manifest.__struct_fields__ if hasattr(office, name)}
            manifest = Manifest(format=FORMAT, office=office.id, **own, members=archive.members)
            archive.add(_MANIFEST, (canonical(manifest),), framed=False)
        fault_point("archive.rename")
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: could not be written ({error.strerror}). Check folder and free space.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return manifest


def unpack(
    path: Path, offices: Offices, blobs: BlobStore, name: str | None = None, limits: Limits | None = None
) -> str:
    """Bring an archive in as an office and return its id: the packed one, or a fresh one where that is taken.

    Everything is verified before the one transaction that makes the office. Raises UsageError for what is no archive
    or goes past `limits`, CorruptStore for what does not match its hashes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _Import(path, archive, blobs, limits or Limits()).run(offices, name)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file.") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError, zlib.error) as error:
        raise CorruptStore(f"{path}: is no archive of an office, or a damaged one. Pack the office again.") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # a damaged directory of the zip points before the file's beginning
            raise CorruptStore(f"{path}: is a damaged archive of an office. Pack the office again.") from error
        raise StorageError(f"{path}: could not be read ({error.strerror}).") from error


# -- writing ----------------------------------------------------------------------------------------------------------


class _Writer:
    """A zip whose bytes depend on its content alone, fsynced at the end."""

    def __init__(self, path: Path) -> None:
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
        self._zip = zipfile.ZipFile(self._file, "w")
        self.members: dict[str, Member] = {}

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._file, suppress(OSError) if kind else nullcontext():
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())

    def add(self, name: str, parts: Iterable[bytes], framed: bool = True) -> None:
        info = zipfile.ZipInfo(name, _DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if name in ("events", "calls", "tools") else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as member:
            for part in parts:
                for piece in (len(part).to_bytes(4, "big"), part) if framed else (part,):
                    member.write(piece)
                    digest.update(piece)
                    size += len(piece)
        self.members[name] = Member(digest.hexdigest(), size)


def _write_tables(archive: _Writer, reader: JournalReader, head: int) -> None:
    archive.add("events", (data for _, data in reader.events(upto=head)))
    archive.add("calls", (canonical(row) for row in _rows(reader, model_calls, ("activation", "ordinal"))))
    archive.add("tools", (canonical(row) for row in _rows(reader, tool_results, ("activation", "ordinal"))))
    # Last: whatever the entries above name was committed before them.
    archive.add("bodies", (bytes.fromhex(row["sha256"]) + row["data"] for row in _rows(reader, bodies, ("sha256",))))


def _rows(reader: JournalReader, table: Table, key: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield a table's rows of one office in the order of `key`, fetched in chunks."""
    columns = [column for column in table.columns if column.name != "office"]
    order = tuple_(*(table.c[name] for name in key))
    query = select(*columns).where(table.c.office == reader.office_id).order_by(*order).limit(CHUNK)
    chunk = query
    while True:
        with reader.database.reading() as connection:
            rows = [dict(row._mapping) for row in connection.execute(chunk)]
        yield from rows
        if len(rows) < CHUNK:
            return
        chunk = query.where(order > tuple_(*(rows[-1][name] for name in key)))


# -- reading ----------------------------------------------------------------------------------------------------------


_Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _CallRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    activation: str
    ordinal: _Whole
    fingerprint: str
    state: str
    attempt: str
    worst_case_micros: _Whole
    lost_micros: _Whole
    role: str
    session: str
    parameters: bytes | None
    messages: bytes | None
    response: bytes | None
    input_tokens: _Whole
    cached_tokens: _Whole
    output_tokens: _Whole
    reasoning_tokens: _Whole
    cost_micros: _Whole
    latency_ms: _Whole = 0


class _ToolRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    activation: str
    ordinal: _Whole
    fingerprint: str
    home_sha256: str
    data: bytes


class _Import:
    """Reads one archive: first all hashes, then all rows, then the blobs, then the transaction."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, blobs: BlobStore, limits: Limits) -> None:
        self._path = path
        self._zip = archive
        self._blobs = blobs
        self._limits = limits
        self._homes: set[str] = set()
        self._named: set[str] = set()
        self._known: set[str] = set()

    def run(self, offices: Offices, name: str | None) -> str:
        manifest = self._verify()
        for rows in (self._calls(), self._tools(), self._bodies()):
            deque(rows, maxlen=0)
        missing = (self._named | self._homes) - self._known
        if missing:
            raise self._corrupt(f"the body {min(missing)} is missing")
        for member in manifest.members:
            match = _BLOB.fullmatch(member)
            if match and self._blobs.put(self._zip.read(member)).sha256 != match[1]:
                raise self._corrupt(f"the file {match[1]} does not match its hash")
        self._check_homes()
        fault_point("archive.unpack")
        return self._insert(offices, manifest, name)

    def _verify(self) -> Manifest:
        """Check names, sizes and hashes of all members before anything in them is believed."""
        infos = self._zip.infolist()
        names = [info.filename for info in infos]
        if len(infos) > self._limits.members or sum(info.file_size for info in infos) > self._limits.total:
            raise UsageError(f"{self._path}: is larger than an archive may be. If you trust it, raise the limits.")
        if len(set(names)) != len(names) or _MANIFEST not in names:
            raise self._corrupt("its list of members is not that of an archive")
        for info in infos:
            blob = _BLOB.fullmatch(info.filename)
            if not (blob or info.filename in _TABLES or info.filename == _MANIFEST) or info.flag_bits & 1:
                raise self._corrupt(f"it holds {info.filename[:80]!r}, which no archive has")
            if (blob and info.file_size > self._limits.blob) or (
                info.filename == _MANIFEST and info.file_size > self._limits.frame * 8
            ):
                raise UsageError(f"{self._path}: {info.filename} is too large.")
        try:
            manifest = msgspec.json.decode(self._zip.read(_MANIFEST), type=Manifest)
        except msgspec.MsgspecError:
            raise self._corrupt("its manifest cannot be read") from None
        if manifest.format not in _READ:
            raise UsageError(
                f"{self._path}: has format {manifest.format}, this version reads {FORMAT}. Install a newer one."
            )
        if {*manifest.members, _MANIFEST} != set(names) or not set(_TABLES) <= set(names):
            raise self._corrupt("its members are not those of its manifest")
        for name, member in manifest.members.items():
            digest = hashlib.sha256()
            with self._zip.open(name) as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
            if digest.hexdigest() != member.sha256:
                raise self._corrupt(f"{name} does not match its hash")
        return manifest

    def _frames(self, name: str) -> Iterator[bytes]:
        with self._zip.open(name) as file:
            while header := _exactly(file, 4, self._corrupt):
                size = int.from_bytes(header, "big")
                if size > self._limits.frame:
                    raise self._corrupt(f"{name} holds a record of {size} bytes")
                data = _exactly(file, size, self._corrupt) if size else b""
                if len(data) != size:
                    raise self._corrupt(f"{name} is cut off")
                yield data

    def _calls(self) -> Iterator[dict[str, Any]]:
        for data in self._frames("calls"):
            row: _CallRow = tape.decode(data, _CallRow, str(self._path))
            if row.state == "answered":
                parameters = tape.decode(row.parameters or b"", tape.Parameters, str(self._path))
                self._named |= {digest for digest in (parameters.tools, parameters.schema) if digest}
                self._named |= set(tape.digests(row.messages or b""))
                response = tape.unpack(row.response or b"", str(self._path), self._limits.frame)
                tape.decode(response, ModelResponse, str(self._path))
            elif row.state != "begun":
                raise self._corrupt(f"a call is in the state {row.state[:20]!r}")
            yield msgspec.structs.asdict(row)

    def _tools(self) -> Iterator[dict[str, Any]]:
        for data in self._frames("tools"):
            row: _ToolRow = tape.decode(data, _ToolRow, str(self._path))
            tape.decode(tape.unpack(row.data, str(self._path), self._limits.frame), tape.ToolRecord, str(self._path))
            self._homes.add(row.home_sha256)
            yield msgspec.structs.asdict(row)

    def _bodies(self) -> Iterator[dict[str, Any]]:
        for data in self._frames("bodies"):
            digest, packed = data[:32].hex(), data[32:]
            if sha256(tape.unpack(packed, str(self._path), self._limits.frame)) != digest:
                raise self._corrupt(f"the body {digest} does not match its hash")
            self._known.add(digest)
            yield {"sha256": digest, "data": packed}

    def _check_homes(self) -> None:
        for row in self._bodies():
            if row["sha256"] in self._homes:
                home = tape.unpack(row["data"], str(self._path), self._limits.frame)
                for entry in tape.decode(home, tuple[TreeEntry, ...], str(self._path)):
                    if not re.fullmatch(r"[0-9a-f]{64}", entry.blob.sha256) or not self._blobs.has(entry.blob.sha256):
                        raise self._corrupt(f"the file {entry.blob.sha256[:64]!r} of a home is missing")

    def _insert(self, offices: Offices, manifest: Manifest, name: str | None) -> str:
        parent = None if manifest.parent is None else (manifest.parent, manifest.parent_revision or 0)
        made_of = (manifest.package_sha256, manifest.seed, manifest.engine_version, manifest.created)
        taken = any(row.id == manifest.office for row in offices.list())
        with offices.database.writing() as connection:
            office_id = offices.insert(
                connection,
                name or manifest.name,
                *made_of,
                parent,
                office_id=None if taken else manifest.office,
                head=manifest.head,
                status=manifest.status,
            )
            log = ({"revision": i, "data": data} for i, data in enumerate(self._frames("events"), 1))
            tables = (
                (events, log),
                (bodies, self._bodies()),
                (model_calls, self._calls()),
                (tool_results, self._tools()),
            )
            counts = {}
            for table, rows in tables:
                counts[table.name] = 0
                for chunk in _chunks(rows):
                    connection.execute(insert(table), [{"office": office_id, **row} for row in chunk])
                    counts[table.name] += len(chunk)
            if counts["events"] != manifest.head:
                raise self._corrupt(f"it holds {counts['events']} events, its manifest says {manifest.head}")
        return office_id

    def _corrupt(self, what: str) -> CorruptStore:
        return CorruptStore(f"{self._path}: {what}. Do not use this archive; pack the office again.")


def _exactly(file: IO[bytes], size: int, corrupt: Callable[[str], CorruptStore]) -> bytes:
    """Return the next `size` bytes, or nothing at the end of the member."""
    data = file.read(size)
    if data and len(data) != size:
        raise corrupt("a member is cut off")
    return data


def _chunks(rows: Iterator[dict[str, Any]], size: int = 1000) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
