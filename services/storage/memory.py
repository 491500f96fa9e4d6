"""The journal and the blob store in memory: doubles for tests and property suites, held to the same conformance suite.

`MemoryOffice` stands for the disk: it outlives the journals opened on it, as a database outlives a killed process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from services.storage.tape import LedgerLine
from simulator.canonical import sha256
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import CorruptStore, Fenced, StorageError, TapeMismatch, UsageError
from simulator.ports import Blob, OutboxItem, TapeCall, TapeTool


class MemoryBlobs:
    """A `BlobStore` that forgets with the process."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put(self, data: bytes) -> Blob:
        """Keep `data`; return its reference."""
        blob = Blob(sha256(data), len(data))
        self._data.setdefault(blob.sha256, bytes(data))
        return blob

    def get(self, sha256: str) -> bytes:
        """Return the bytes. Raises CorruptStore where there are none."""
        try:
            return self._data[_checked(sha256)]
        except KeyError:
            raise CorruptStore(f"The file {sha256} is missing from the store in memory.") from None

    def has(self, sha256: str) -> bool:
        """Return whether there are bytes under this hash."""
        return _checked(sha256) in self._data


class MemoryOffice:
    """What the journals of one office leave behind."""

    def __init__(self, office_id: str = "memory") -> None:
        self.office_id = office_id
        self.epoch = 0
        self.log: list[bytes] = []
        self.bodies: dict[str, str] = {}
        self.calls: dict[tuple[str, int], tuple[ModelRequest, ModelResponse]] = {}
        self.activations: dict[str, list[tuple[ModelRequest, ModelResponse]]] = {}
        self.ledger: dict[tuple[str, int], LedgerLine] = {}
        self.tools: dict[tuple[str, int], TapeTool] = {}
        self.outbox: dict[str, OutboxItem] = {}
        self.checkpoints: dict[tuple[str, int], bytes] = {}
        self.status = b""
        self.lock = threading.RLock()


class MemoryJournal:
    """A `Journal` on a `MemoryOffice`; opening a second one fences the first."""

    def __init__(self, office: MemoryOffice | str = "memory") -> None:
        self._office = office if isinstance(office, MemoryOffice) else MemoryOffice(office)
        with self._office.lock:
            self._office.epoch += 1
            self._epoch = self._office.epoch
        self._closed = False

    @property
    def office(self) -> MemoryOffice:
        """What outlives this journal."""
        return self._office

    @property
    def office_id(self) -> str:
        """The office's id."""
        return self._office.office_id

    @property
    def head(self) -> int:
        """Revision of the last committed event; 0 for an empty log."""
        return len(self._office.log)

    @property
    def status(self) -> bytes:
        """What the last run left to say about itself; empty at first."""
        return self._office.status

    def commit(
        self, first_revision: int, events: Sequence[bytes], bodies: Mapping[str, str], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Append events, texts and outbox items together, or nothing."""
        for digest, text in bodies.items():
            if sha256(text.encode()) != digest:
                raise UsageError(f"The text body filed under {digest} has another hash.")
        with self._office.lock:
            self._hold()
            if first_revision != self.head + 1:
                raise UsageError(f"Event {first_revision} cannot follow event {self.head} of office {self.office_id}.")
            for item in outbox:
                if self._office.outbox.get(item.key, item) != item:
                    raise UsageError(f"The outbox of office {self.office_id} holds another effect under {item.key!r}.")
            self._office.log.extend(bytes(event) for event in events)
            self._office.bodies.update(bodies)
            for item in outbox:
                self._office.outbox.setdefault(item.key, item)

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield (revision, canonical bytes) of the revisions in (after, upto]."""
        end = self.head if upto is None else min(upto, self.head)
        for revision in range(after + 1, end + 1):
            yield revision, self._office.log[revision - 1]

    def body(self, sha256: str) -> str:
        """Return the text filed under a hash. Raises CorruptStore where there is none."""
        try:
            return self._office.bodies[sha256]
        except KeyError:
            raise CorruptStore(f"Office {self.office_id}, body {sha256}: is missing.") from None

    def record(self, calls: Iterable[tuple[ModelRequest, ModelResponse]], tools: Iterable[TapeTool] = ()) -> None:
        """Keep answers and tool results, all or none; the same ones again change nothing."""
        calls, tools = list(calls), list(tools)
        with self._office.lock:
            self._hold()
            for request, response in calls:
                stored = self._office.calls.get(request.call)
                if stored is not None and (stored[0].fingerprint, stored[1]) != (request.fingerprint, response.on_record()):
                    raise _other(request.call, "answer")
            for tool in tools:
                if self._office.tools.get((tool.activation, tool.ordinal), tool) != tool:
                    raise _other((tool.activation, tool.ordinal), "tool result")
            for request, response in calls:
                self._answer(request, response)
            for tool in tools:
                self._office.tools[tool.activation, tool.ordinal] = tool

    def begin_call(self, request: ModelRequest, worst_case_micros: int) -> None:
        """Note that a call is about to be made; one begun before and never answered is lost, and charged."""
        with self._office.lock:
            self._hold()
            before = self._office.ledger.get(request.call)
            if before is not None and before.state == "answered":
                return
            lost = before.charged_micros if before is not None else 0
            self._office.ledger[request.call] = _line(request, "begun", 0, worst_case_micros, lost)

    def release_call(self, request: ModelRequest, charged_micros: int = 0) -> None:
        """Note that a begun call ended without an answer, and what it was charged."""
        with self._office.lock:
            self._hold()
            line = self._office.ledger.get(request.call)
            if line is not None and line.state == "begun":
                self._office.ledger[request.call] = msgspec.structs.replace(line, worst_case_micros=charged_micros)

    def call(self, activation: str, ordinal: int) -> TapeCall | None:
        """Return the stored answer of a call, or None."""
        stored = self._office.calls.get((activation, ordinal))
        return None if stored is None else TapeCall(activation, ordinal, stored[0].fingerprint, stored[1])

    def tool(self, activation: str, ordinal: int) -> TapeTool | None:
        """Return the stored result of a sandbox tool call, or None."""
        return self._office.tools.get((activation, ordinal))

    def conversation(self, activation: str, session: str) -> tuple[tuple[Message, ...], ModelResponse] | None:
        """Return the messages and the answer of an activation's last answered call under `session`, or None."""
        with self._office.lock:
            calls = [
                (request.call[1], request.messages, response)
                for request, response in self._office.activations.get(activation, ())
                if request.session == session
            ]
        return max(calls, key=lambda call: call[0])[1:] if calls else None

    def requests(self) -> Iterator[tuple[ModelRequest, ModelResponse]]:
        """Yield every answered call in full, ordered by activation and ordinal."""
        for key in sorted(self._office.calls):
            yield self._office.calls[key]

    def ledger(self) -> Iterator[LedgerLine]:
        """Yield what each call is charged, ordered by activation and ordinal."""
        for key in sorted(self._office.ledger):
            yield self._office.ledger[key]

    def charged_micros(self) -> int:
        """Return what all calls are charged."""
        return sum(line.charged_micros for line in self._office.ledger.values())

    def save_checkpoint(self, revision: int, fold_version: str, data: bytes) -> None:
        """Keep a fold's state as a cache."""
        with self._office.lock:
            self._hold()
            self._office.checkpoints[fold_version, revision] = bytes(data)

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest (revision, data) of this fold version at or before `upto`, or None."""
        revisions = [
            r for version, r in self._office.checkpoints if version == fold_version and (upto is None or r <= upto)
        ]
        return (max(revisions), self._office.checkpoints[fold_version, max(revisions)]) if revisions else None

    def set_status(self, status: bytes) -> None:
        """Keep what this run has to say about itself."""
        with self._office.lock:
            self._hold()
            self._office.status = bytes(status)

    def close(self) -> None:
        """Refuse every further write."""
        self._closed = True

    def _hold(self) -> None:
        if self._closed:
            raise StorageError(f"Office {self.office_id} was closed by this process; open it again.")
        if self._epoch != self._office.epoch:
            raise Fenced(f"Office {self.office_id} was taken over by another journal; this one has stopped writing.")

    def _answer(self, request: ModelRequest, response: ModelResponse) -> None:
        if request.call in self._office.calls:
            return
        begun = self._office.ledger.get(request.call)
        worst, lost = (begun.worst_case_micros, begun.lost_micros) if begun is not None else (0, 0)
        usage = response.usage
        used = (usage.input, usage.cached, usage.output, usage.reasoning, response.latency_ms)
        kept = (request, response.on_record())
        self._office.calls[request.call] = kept
        self._office.activations.setdefault(request.call[0], []).append(kept)
        self._office.ledger[request.call] = _line(request, "answered", response.cost_micros, worst, lost, *used)


def _line(request: ModelRequest, state: str, cost: int, worst_case: int, lost: int, *used: int) -> LedgerLine:
    fields = (*request.call, request.role, request.session, state, cost, worst_case, lost, *used)
    return msgspec.convert(dict(zip(LedgerLine.__struct_fields__, fields, strict=False)), LedgerLine)


def _checked(sha256: str) -> str:
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise UsageError(f"{sha256!r} is not the SHA-256 of a stored file: 64 lower-case hex digits are needed.")
    return sha256


def _other(call: tuple[str, int], what: str) -> TapeMismatch:
    return TapeMismatch(f"Activation {call[0]}, call {call[1]}: another {what} is on the tape already. It stays.")
