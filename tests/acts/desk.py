"""A small firm in which people act through their tools, one act at a time, as a model calls them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from services.storage.memory import MemoryBlobs
from simulator.acts import ACTS, ActContext, Outcome, Refused, decide
from simulator.acts.arguments import Arguments
from simulator.events import (
    Event,
    OccurrenceBegan,
    Payload,
    QuestionAsked,
    SegmentLanded,
    WorkSubmitted,
)
from simulator.fold import apply
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import Body, FileRef, Submission
from tests.access.world import RIVERBEND, World, blob, body, juniper

HOME = blob("home")


class Desk:
    """The firm of the story, with what an act needs around it. `did` are the payloads of the last act."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or juniper()
        self.blobs = MemoryBlobs()
        self.texts: dict[str, str] = {}
        self.did: tuple[Payload, ...] = ()
        self.opened: tuple[FileRef, ...] = ()
        self.received: tuple[tuple[str, Blob], ...] = ()

    @property
    def office(self) -> Office:
        return self.world.office

    def text(self, item: Body) -> str:
        return self.texts[item.sha256] if item.sha256 else item.text

    def decide(self, who: str, tool: str, args: dict[str, Any], act_id: str) -> Outcome:
        """Decide an act with arguments as they come from a model's JSON; nothing happens."""
        parsed = msgspec.convert(args, ACTS[tool].arguments)
        assert isinstance(parsed, Arguments)
        activation = act_id.rpartition(".")[0]
        ctx = ActContext(
            self.office, who, activation, act_id, self.world.now, self.blobs, self.texts, self.opened, self.received
        )
        return decide(ctx, tool, parsed)

    def act(self, who: str, tool: str, **args: Any) -> dict[str, Any]:
        """Let somebody act; return what they are answered."""
        act_id = self.world.id(who)
        before = self.office
        outcome = self.decide(who, tool, args, act_id)
        assert self.office is before, "deciding must not do anything"
        for payload in outcome.payloads:
            self.happen(payload, who, act_id.rpartition(".")[0])
        self.did = outcome.payloads
        self.world.now += 60
        msgspec.json.encode(outcome.answer)  # what a model is shown is JSON
        return outcome.answer

    def refused(self, who: str, tool: str, **args: Any) -> str:
        """Return the words in which an act is refused; fails where it is not."""
        with pytest.raises(Refused) as caught:
            self.decide(who, tool, args, f"{who}.900.1")
        return str(caught.value)

    def happen(self, payload: Payload, actor: str = "engine", activation: str = "engine.1") -> None:
        """Let something happen at the present instant, in the middle of the run and not before it."""
        event = Event(self.office.revision + 1, self.world.now, actor, activation, payload)  # type: ignore[arg-type]
        self.world.office = apply(self.office, event)

    # -- what assistants and the clock do

    def ask(self, delegation: str, text: str = "may I?") -> str:
        number, segment = self._place(delegation)
        name = f"assistant:{delegation}.{number}.{segment}.question"
        self.happen(SegmentLanded(delegation, number, segment, "asked", HOME, 3), f"assistant:{delegation}")
        self.happen(QuestionAsked(delegation, name, body(text)), f"assistant:{delegation}")
        return name

    def submit(self, delegation: str, *files: FileRef, report: str = "done") -> None:
        number, segment = self._place(delegation)
        self.happen(SegmentLanded(delegation, number, segment, "submitted", HOME, 3), f"assistant:{delegation}")
        handed_in = Submission(self.world.now, files, body(report))
        self.happen(WorkSubmitted(delegation, number, handed_in), f"assistant:{delegation}")

    def stop(self, delegation: str, reason: str = "gave up") -> None:
        number, segment = self._place(delegation)
        self.happen(SegmentLanded(delegation, number, segment, "stopped", HOME, 3, reason), f"assistant:{delegation}")

    def _place(self, delegation: str) -> tuple[int, int]:
        latest = self.office.delegations[delegation].rounds[-1]
        return latest.number, latest.segments + 1

    def draft(self, delegation: str, path: str, text: str = "draft") -> FileRef:
        """Make what an assistant's changed file becomes: its principal's draft."""
        work = self.office.delegations[delegation]
        space = f"home:{work.principal}"
        return self.world.save(work.principal, space, path, text, author=f"assistant:{delegation}",
                               delegation=delegation, walls=(work.matter,) if work.matter else (),
                               level="confidential", matter=work.matter)  # fmt: skip

    def begin(self, entry: str) -> None:
        """Let the clock reach an event."""
        self.world.now = max(self.world.now, self.office.entries[entry].start)
        self.happen(OccurrenceBegan(entry, self.office.entries[entry].start))

    # -- shorthands

    def delegate(self, who: str = "daniel", matter: str = RIVERBEND, **more: Any) -> str:
        args = {"goal": "close December", "deliverables": ["Documents/Close.md"], "matter": matter, **more}
        found: str = self.act(who, "delegate", **args)["delegation"]
        return found

    def inbox(self, who: str) -> list[tuple[str, str]]:
        return [(s.kind, s.ref) for s in self.office.inboxes.get(who, ())]

    def notices(self, who: str) -> list[str]:
        return [n.text for n in self.office.notices.get(who, ())]

    def blob(self, data: bytes) -> Blob:
        return self.blobs.put(data)


def names(payloads: tuple[Payload, ...]) -> list[str]:
    """The kinds of some payloads, in order."""
    return [type(p).__name__ for p in payloads]

