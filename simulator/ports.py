"""The simulator's ports: what it asks of the outside. Each is fulfilled in `services/` by a sibling named after its
technology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from simulator.conversation import Message, ModelRequest, ModelResponse

# -- models -----------------------------------------------------------------------------------------------------------


class Model(Protocol):
    """Answers a request. Blocking; called from worker threads.

    Raises `ModelOutage` when retryable faults go past their deadline and `BudgetExhausted` before it would overspend.
    Every other outcome is a `ModelResponse`.
    """

    def complete(self, request: ModelRequest) -> ModelResponse: ...


# -- file bytes and rendering -----------------------------------------------------------------------------------------


class Blob(msgspec.Struct, frozen=True, order=True):
    """A reference to file bytes in the content-addressed store."""

    sha256: str
    size: int


class BlobStore(Protocol):
    """Content-addressed file bytes. Nothing is ever overwritten; what is returned was verified by its hash."""

    def put(self, data: bytes) -> Blob: ...
    def get(self, sha256: str) -> bytes: ...
    def has(self, sha256: str) -> bool: ...


class Renderer(Protocol):
    """Turns file bytes into the text that a principal reads: cells with formulas and values, paragraphs, pages.

    Deterministic, bounded, and never raises on hostile bytes: what cannot be read is said in the text.
    """

    def render(self, data: bytes, media_type: str, name: str) -> str: ...


# -- sandboxes --------------------------------------------------------------------------------------------------------


class TreeEntry(msgspec.Struct, frozen=True):
    """One file of a tree: `path` is relative, with `/`, without `..`; `mode` is 0o644 or 0o755."""

    path: str
    blob: Blob
    mode: int = 0o644


class SandboxSpec(msgspec.Struct, frozen=True):
    """What a sandbox is started with.

    `home` is copied to /home/npc/computer (writable); `mounts` maps `company`, `services`, `task` to read-only trees
    under /mnt. `now` is the simulated time in seconds since the epoch (RULE 36). `label` names it for people and
    reapers.
    """

    label: str
    home: tuple[TreeEntry, ...]
    mounts: Mapping[str, tuple[TreeEntry, ...]]
    now: int
    state: ShellState | None = None


class ShellState(msgspec.Struct, frozen=True):
    """What a fresh shell inherits from the one before it: working folder and exported variables (RULE 33).

    `folders` are the empty folders of the home, relative, which a manifest of files cannot carry.
    """

    cwd: str = "/home/npc/computer"
    env: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()


class CommandResult(msgspec.Struct, frozen=True):
    """One command's outcome. `stdout` and `stderr` are cut, decoded with replacement and bounded.

    `ended` is `exit`, `timeout` (the tree was killed, partial output kept) or `limit` (killed by a resource limit,
    named
    in `note`).
    """

    exit_code: int
    stdout: str
    stderr: str
    ended: str = "exit"
    note: str = ""
    state: ShellState = ShellState()


class Sandbox(Protocol):
    """A running sandbox. Raises `SandboxError` when it is dead: never a result that looks like tool output.

    `read` and `write` take a path inside (relative ones start at the home) and raise `OSError` in plain words for
    what is
    not there, not a file, not allowed, or larger than `limit` bytes. What `export_home` refuses is no longer in the
    home
    either, so that a sandbox that lives on equals one restored from what was exported.
    """

    def run(self, command: str, timeout_s: int = 120) -> CommandResult: ...
    def read(self, path: str, limit: int = 2_000_000) -> bytes: ...
    def write(self, path: str, data: bytes) -> None: ...
    def export_home(self) -> tuple[tuple[TreeEntry, ...], tuple[str, ...]]:
        """Read the home back as hostile: return (entries, whose bytes are now in the blob store; refusals in plain
        words)."""
        ...

    def close(self) -> None: ...


class SandboxProvider(Protocol):
    """Starts sandboxes. `check` raises `SandboxUnavailable`, saying what to do, where this provider cannot work."""

    name: str

    def check(self) -> None: ...
    def start(self, spec: SandboxSpec) -> Sandbox: ...
    def reap(self) -> int:
        """Remove what a crashed process left behind; return how many sandboxes that was."""
        ...


# -- the journal: one office's log, tape and outbox -------------------------------------------------------------------


class TapeCall(msgspec.Struct, frozen=True):
    """A stored model answer: found by (activation, ordinal), checked by fingerprint (RULE 2)."""

    activation: str
    ordinal: int
    fingerprint: str
    response: ModelResponse


class TapeTool(msgspec.Struct, frozen=True):
    """A stored sandbox tool result with the manifest of the home it left (RULE 35).

    `ordinal` counts the segment's sandbox tool calls. `result` is the text shown to the model. `home` is the whole
    home after the call; `state` what the next shell inherits.
    """

    activation: str
    ordinal: int
    fingerprint: str
    result: str
    home: tuple[TreeEntry, ...]
    state: ShellState
    note: str = ""


class OutboxItem(msgspec.Struct, frozen=True):
    """An effect on an outside server: `key` makes it idempotent, `lane` keeps order (a room, a mailbox, a calendar)."""

    key: str
    lane: str
    kind: str
    body: bytes


class Journal(Protocol):
    """One office's durable record, held under an exclusive, fenced lease (RULE 24).

    `commit` is the only commit point: events (canonical bytes, contiguous revisions), the text bodies they refer to,
    and outbox items, in one transaction. `record` stores tape entries before their tools run.
    """

    @property
    def office_id(self) -> str: ...
    @property
    def head(self) -> int:
        """Revision of the last committed event; 0 for an empty log."""
        ...

    def commit(
        self, first_revision: int, events: Sequence[bytes], bodies: Mapping[str, str], outbox: Sequence[OutboxItem] = ()
    ) -> None: ...
    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]: ...
    def body(self, sha256: str) -> str: ...
    def record(self, calls: Iterable[tuple[ModelRequest, ModelResponse]], tools: Iterable[TapeTool] = ()) -> None: ...
    def begin_call(self, request: ModelRequest, worst_case_micros: int) -> None:
        """Note that a call is about to be made, so that a crash charges it at its worst case (RULE 2)."""
        ...

    def call(self, activation: str, ordinal: int) -> TapeCall | None: ...
    def tool(self, activation: str, ordinal: int) -> TapeTool | None: ...
    def conversation(self, activation: str, session: str) -> tuple[tuple[Message, ...], ModelResponse] | None:
        """Return the messages and the answer of an activation's last answered call under `session`, or None."""
        ...

    def save_checkpoint(self, revision: int, fold_version: str, data: bytes) -> None: ...
    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None: ...
    def close(self) -> None: ...


# -- what comes in -----------------------------------------------------------------------------------------------------


class InboundItem(msgspec.Struct, frozen=True):
    """One act from outside. `key` names it for ever; `arguments` is the act's JSON; `actor` whose rights it has. `files`
    are the names and bytes that came with it: no act that a model calls can name bytes (RULE 26)."""

    key: str
    actor: str
    tool: str
    arguments: str = "{}"
    files: tuple[tuple[str, Blob], ...] = ()


class Inbound(Protocol):
    """Where inbound items come from. `committed` says whether everything before `revision` is committed."""

    def take(self, revision: int, committed: bool) -> tuple[InboundItem, ...]: ...
