"""What an engine is composed of: the ports and limits that the outside passes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from simulator.carrying import Projection
from simulator.conversation import ModelRequest
from simulator.errors import CorruptStore
from simulator.events import Event
from simulator.office import Office
from simulator.ports import BlobStore, Inbound, Journal, Model, Renderer, SandboxProvider
from simulator.records import Body
from simulator.systems import SystemPort


class Pacer(Protocol):
    """Holds wall time against simulated time. It never changes the event log (DESIGN 5)."""

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        """Return True when the instant `at` may be processed, False as soon as something has come in meanwhile.

        `working` activations are running. `commit` is called before any waiting, so that whoever watches sees it all.
        """
        ...


class Unpaced:
    """No pacing: as fast as the models allow."""

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        """Return at once."""
        return True


class Observer(Protocol):
    """Watches an office run; called from the engine's thread, after the commit."""

    def event(self, event: Event, office: Office) -> None: ...


class Parked(Exception):  # noqa: N818 - not an error: the call is simply never answered
    """Raised by a model that has no answer and never will (a record that ends here): the activation waits for ever."""


def free_of_charge(request: ModelRequest) -> int:
    """Worst case in micros of a call to a model that costs nothing."""
    return 0


class TextStore(Protocol):
    """Where committed texts are: a journal, or a reader of one."""

    def body(self, sha256: str) -> str: ...


class Bodies:
    """Texts by reference: those not yet committed, a bounded cache, then the journal."""

    def __init__(self, journal: TextStore, keep: int = 4_000) -> None:
        self._journal = journal
        self._keep = keep
        self._cache: dict[str, str] = {}
        self.pending: dict[str, str] = {}

    def __call__(self, body: Body) -> str:
        """Return the text of a body."""
        if not body.sha256:
            return body.text
        text = self.pending.get(body.sha256) or self._cache.get(body.sha256)
        if text is None:
            text = self._journal.body(body.sha256)
            self._remember(body.sha256, text)
        return text

    def _remember(self, digest: str, text: str) -> None:
        if len(self._cache) >= self._keep:
            for old in list(self._cache)[: self._keep // 4]:
                del self._cache[old]
        self._cache[digest] = text

    def offer(self, texts: dict[str, str]) -> None:
        """Make the texts of a running activation readable before they are committed."""
        for digest, text in texts.items():
            self._remember(digest, text)

    def take(self, used: set[str]) -> dict[str, str]:
        """Return the pending texts that committed events name, and forget them as pending."""
        taken = {digest: self.pending.pop(digest) for digest in used if digest in self.pending}
        for digest, text in taken.items():
            self._remember(digest, text)
        return taken


class Settings(msgspec.Struct, frozen=True):
    """How an engine works; nothing here changes the event log.

    `concurrency` people (meetings count as one) and `workers` assistants at once; `commit_items` items at most are
    processed
    before a commit.
    """

    concurrency: int = 6
    workers: int = 4
    commit_items: int = 48
    checkpoint_events: int = 10_000
    command_timeout_s: int = 120


class Environment(msgspec.Struct):
    """Everything an engine is given."""

    journal: Journal
    blobs: BlobStore
    model: Model
    sandboxes: SandboxProvider | None
    renderer: Renderer
    settings: Settings = Settings()
    pacer: Pacer = Unpaced()
    observers: tuple[Observer, ...] = ()
    worst_case: Callable[[ModelRequest], int] = free_of_charge
    inbound: Inbound | None = None
    outgoing: Projection = msgspec.field(default_factory=Projection)
    """What leaves the office; with carriers it has seen the whole log before."""
    systems: SystemPort | None = None
    """What runs the firm's systems of record; without it assistants are offered none."""


def need(text: str | None, what: str) -> str:
    """Return `text`; a missing one means that the store is damaged."""
    if text is None:
        raise CorruptStore(f"{what} is missing from the office's record: restore it from a pack")
    return text
