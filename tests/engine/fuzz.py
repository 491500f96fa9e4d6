"""A model that does anything: its answers are drawn from the request's own hash, so equal requests get equal answers.

It names real and unknown people, rooms, files and ids, right and wrong arguments, broken JSON, refusals and faults.
What it
knows it reads from the conversation, like any model.
"""

from __future__ import annotations

import re
import threading
from collections import Counter

from simulator.canonical import canonical, sha256
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from simulator.randomness import Stream

IDS = re.compile(r'"(?:mail|message|request|delegation|question|event|id|file)":"([^"]{1,120})"')


class Fuzz:
    """Draws tool calls. `asked` counts calls by (activation, ordinal): none may be made twice."""

    def __init__(self, people: list[str], seed: int = 0, faults: int = 0) -> None:
        self.people = people
        self.seed = seed
        self.faults = faults
        self.asked: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer by the hash of the conversation and the offered tools."""
        with self._lock:
            self.asked[request.call] += 1
        draw = Stream(self.seed, sha256(canonical([m.digest for m in request.messages])), len(request.tools))
        if self.faults and draw.chance(self.faults, 100):
            return ModelResponse(finish="unavailable", detail="drawn")
        if not request.tools:
            return ModelResponse(content="a summary of the day")
        text = "\n".join(m.content for m in request.messages[-6:])
        ids = sorted(set(IDS.findall(text))) or ["none"]
        names = [t.name for t in request.tools]
        calls = [self._call(draw, names, ids, k) for k in range(draw.between(1, 3))]
        if len(request.messages) > 12 or draw.chance(1, 4):
            end = next(n for n in ("finish", "submit", "close_meeting", names[0]) if n in names)
            calls.append(
                ToolCall(f"e{draw.below(99)}", end, canonical({"report": "done"} if end == "submit" else {}).decode())
            )
        return ModelResponse(tool_calls=tuple(calls), finish="tool_calls")

    def _call(self, draw: Stream, names: list[str], ids: list[str], k: int) -> ToolCall:
        name = draw.choice([n for n in names if n not in ("bash", "read", "write", "edit")])
        if draw.chance(1, 25):
            return ToolCall(
                f"c{k}", draw.choice([*names, "fly"]), draw.choice(["{", "[]", '"x"', '{"nonsense": 1}', "\ud800"])
            )
        arguments = self._arguments(draw, name, ids)
        return ToolCall(f"c{k}", name, canonical(arguments).decode())

    def _arguments(self, draw: Stream, name: str, ids: list[str]) -> dict[str, object]:  # noqa: PLR0911
        who = draw.choice([*self.people, "nobody"])
        some = draw.choice(ids)
        day = f"2026-01-{draw.between(5, 16):02d}"
        text = f"words {draw.below(1000)} " * draw.between(1, 60)
        tables: dict[str, dict[str, object]] = {
            "post_message": {"to": draw.choice([who, "general"]), "text": text, "asks": draw.chance(1, 2)},
            "send_mail": {"to": [who, draw.choice(self.people)], "subject": "s", "text": text, "attachments": [some] if draw.chance(1, 6) else []},
            "write_mail": {"to": [draw.choice(self.people)], "subject": "need", "text": text, "period": "2026-01",
                           "attachments": [{"name": f"f{draw.below(3)}.csv", "text": f"a,b\n1,{draw.below(99)}\n"}]},
            "schedule": {"title": "talk", "attendees": [who], "start": f"{day} {draw.between(9, 16):02d}:{draw.choice(['00', '30'])}", "minutes": 30},
            "respond": {"event": some, "answer": draw.choice(["accepted", "declined"])},
            "move": {"event": some, "start": f"{day} 10:00"},
            "make_request": {"to": who, "outcome": text, "due": day, "work": "records-digest"},
            "accept_request": {"request": some}, "decline_request": {"request": some, "reason": "busy"},
            "fulfil_request": {"request": some, "note": text}, "withdraw": {"ref": some, "reason": "changed"},
            "delegate": {"goal": text, "deliverables": [f"Documents/d{draw.below(4)}.md"], "matter": draw.choice(["", "river"])},
            "answer_question": {"question": some, "text": text},
            "review": {"delegation": some, "decision": draw.choice(["accept", "revise", "supplement"]), "notes": text},
            "save": {"path": f"Notes/n{draw.below(4)}.md", "text": text}, "accept": {"file": some}, "sign_off": {"file": some},
            "classify": {"file": some, "level": draw.choice(["public", "confidential"]), "release_to": draw.choice([[], ["river"]])},
            "share": {"file": some, "audience": [draw.choice(["everyone", "matter:river", f"person:{who}"])]},
            "unshare": {"file": some, "audience": "everyone"},
            "change_team": {"matter": "river", "person": who, "member": draw.chance(2, 3)},
            "note": {"record": draw.choice(["commitment", "decision", "question"]), "text": text, "due": day}, "close_note": {"record": some},
            "look_into": {"question": "what of it?"}, "finish": {"summary": "enough"}, "search": {"words": "words"},
            "list_files": {}, "open_file": {"file": some}, "read_room": {"room": "general"}, "read_mail": {"mail": some},
            "list_mail": {}, "see_calendar": {"start": day}, "free_busy": {"people": [who], "day": day}, "list_work": {},
            "read_work": {"ref": some}, "list_colleagues": {}, "read_memory": {"record": "commitment"},
            "speak": {"text": text}, "record_decision": {"text": text}, "raise_question": {"text": text}, "pass_turn": {},
            "close_meeting": {}, "ask_principal": {"question": text}, "submit": {"report": text},
        }  # fmt: skip
        return tables[name]
