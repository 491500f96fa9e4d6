"""A meeting: turns in a room led by the organizer, with minutes, decisions and actions (RULE 17)."""

from __future__ import annotations

from typing import Any

from simulator.acts import ACTS
from simulator.acts.arguments import Arguments
from simulator.acts.context import make_body
from simulator.businesstime import calendar_for
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.engine.environment import Bodies, Environment
from simulator.engine.run import Run
from simulator.office import Office
from simulator.prompts import render
from simulator.quoting import one_line
from simulator.records import Body, CalendarEntry, Running
from simulator.tools.catalog import MEETING_TOOLS, CloseMeeting, Decide, PassTurn, RaiseQuestion, Speak, known_tools

TURN_LIMIT = 18


class MeetingRun(Run):
    """A meeting under way. `systems` and `prompts` are each attendee's role card and view, made from the base
    office."""

    def __init__(
        self,
        env: Environment,
        bodies: Bodies,
        running: Running,
        base: Office,
        *,
        systems: dict[str, str],
        prompts: dict[str, str],
    ) -> None:
        super().__init__(env, bodies, running, base, base.pace.meeting_minimum, base.pace.meeting_turn)
        self.entry: CalendarEntry = base.entries[running.ref]
        self.attendees = running.people
        self.systems, self.prompts = systems, prompts
        self.known = known_tools(MEETING_TOOLS)
        self.transcript: list[tuple[str, str, str]] = []
        """Who, how (`said`, `decision` or `question`), what."""
        self.decisions: list[Body] = []
        self.questions: list[tuple[str, Body]] = []
        self.actions: list[str] = []
        self._passed = 0

    @property
    def speaker(self) -> str:
        """Return whose turn it is: organizer first, then rounds in attendee order."""
        return self.attendees[self.turns % len(self.attendees)]

    def next_request(self) -> ModelRequest:
        """Return the speaker's turn: their view plus the transcript so far."""
        speaker = self.speaker
        spoken = [{"who": self.base.people[who].name, how: text} for who, how, text in self.transcript]
        prompt = render(
            "meeting_turn", view=self.prompts[speaker], transcript=spoken, organizer=speaker == self.entry.organizer,
            turns_left=TURN_LIMIT - self.turns,
        )  # fmt: skip
        messages = (Message("system", self.systems[speaker]), Message("user", prompt))
        return ModelRequest("principal", self.call_id(), self.base.people[speaker].session, messages, MEETING_TOOLS)

    def feed(self, request: ModelRequest, response: ModelResponse) -> None:
        """Take one turn. A speaker whose model is unavailable is passed over."""
        speaker = self.speaker
        self.turns += 1
        before = len(self.transcript)
        closed = False
        if response.finish != "unavailable":
            if response.content.strip() and not response.tool_calls:
                self._say(speaker, response.content)
            for call in response.tool_calls:
                parsed = self.parse(call, self.known)
                if not isinstance(parsed, dict):
                    closed = self._do(speaker, call.name, parsed) or closed
        self._passed = self._passed + 1 if len(self.transcript) == before else 0
        organizer_closed = closed and speaker == self.entry.organizer
        if organizer_closed or self.turns >= TURN_LIMIT or self._passed >= len(self.attendees):
            self.outcome = "done"
            self.summary = f"{len(self.transcript)} contributions, {len(self.decisions)} decisions"

    def _say(self, speaker: str, text: str, how: str = "said") -> None:
        self.transcript.append((speaker, how, text.strip()[:2_000]))

    def _do(self, speaker: str, tool: str, parsed: Any) -> bool:
        """Carry out one tool call of a turn; True when it closes the meeting."""
        if isinstance(parsed, Speak):
            self._say(speaker, parsed.text)
        elif isinstance(parsed, Decide):
            self.decisions.append(make_body(parsed.text, self.texts, 2_000))
            self._say(speaker, parsed.text, "decision")
        elif isinstance(parsed, RaiseQuestion):
            self.questions.append((speaker, make_body(parsed.text, self.texts, 2_000)))
            self._say(speaker, parsed.text, "question")
        elif isinstance(parsed, CloseMeeting):
            return True
        elif tool in ACTS and isinstance(parsed, Arguments):
            answer = self.try_act(speaker, tool, parsed)
            if answer["ok"] and tool == "make_request":
                owner = self.base.people[answer["owner"]].name
                self.actions.append(f"{owner}: {getattr(parsed, 'outcome', '')[:200]}")
        else:
            assert isinstance(parsed, PassTurn)
        return False

    def minutes(self) -> str:
        """Return the minutes as a document: who, what was said, decisions, open questions, actions."""
        calendar = calendar_for(self.base.calendar)
        names = ", ".join(self.base.people[p].name for p in self.attendees)
        lines = [f"# {one_line(self.entry.title)}", "", f"{calendar.describe(self.running.at)}. Present: {names}.", ""]
        if self.entry.agenda:
            lines += [f"Agenda: {one_line(self.entry.agenda)}", ""]
        marks = {"said": "", "decision": "[decision] ", "question": "[open question] "}
        lines += [
            f"- **{self.base.people[who].name}**: {marks[how]}{one_line(text)}" for who, how, text in self.transcript
        ]
        for title, items in (
            ("Decisions", [self.texts.get(b.sha256, b.text) for b in self.decisions]),
            ("Open questions", [self.texts.get(b.sha256, b.text) for _, b in self.questions]),
            ("Actions", self.actions),
        ):
            if items:
                lines += ["", f"## {title}", "", *(f"- {one_line(item)}" for item in items)]
        return "\n".join(lines) + "\n"
