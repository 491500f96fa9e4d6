"""The form in which an expert says what they think of a task: kept here as it is typed, handed over whole when it is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args

from bench.expert_reviews import LONGEST, Added, ExpertReview, Opinion, Remark, Said, Verdict
from bench.rubric import Priority
from orchestrator.web.queries.experts import Asked, Opened
from orchestrator.web.ui import kit
from simulator.errors import UsageError

OPINIONS = {"": "No opinion", "keep": "Keep it", "change": "Change it", "drop": "Drop it"}
VERDICTS = {"": "Not decided yet", "accept": "Accept", "reject": "Reject"}
PRIORITIES = {"": "Leave as it is", **{p: p for p in get_args(Priority)}}
REQUIRED = {"": "Leave as it is", "yes": "Required", "no": "Not required"}
_TRUTH = {"yes": True, "no": False}


class Form:
    """What is typed so far. It begins with what the expert said last of this version."""

    def __init__(self, said: Said) -> None:
        self.values: dict[str, str] = {"verdict": said.verdict, "comment": said.comment, "task": said.task or ""}
        for remark in said.remarks:
            required = "" if remark.required is None else "yes" if remark.required else "no"
            values = (remark.opinion, remark.comment, remark.text or "", remark.priority or "", required)
            for name, value in zip(_FIELDS, values, strict=True):
                self.values[f"{remark.criterion}\n{name}"] = value
        self.added: list[dict[str, str]] = [
            {"text": a.text, "priority": a.priority, "evidence": "\n".join(a.evidence)} for a in said.added
        ]

    def setter(self, name: str) -> Callable[[str], None]:
        """Return what notes a value."""
        return lambda value: self.values.__setitem__(name, value)

    def said(self, asked: Mapping[str, Asked]) -> Said:
        """Return what the form says. Raises UsageError for what is too long."""
        too_long = [v for v in (*self.values.values(), *(a["text"] for a in self.added)) if len(v) > LONGEST]
        if too_long:
            raise UsageError(f"One of the texts has more than {LONGEST:,} letters: make it shorter.")
        remarks = tuple(self._remark(name) for name in asked)
        added = tuple(
            Added(
                a["text"],
                _priority(a["priority"]) or "P2",
                tuple(filter(None, map(str.strip, a["evidence"].split("\n")))),
            )
            for a in self.added
        )
        verdict = cast(Verdict, self.values["verdict"] if self.values["verdict"] in VERDICTS else "")
        return Said(verdict, self.values["comment"], self.values["task"] or None, remarks, added)

    def _remark(self, criterion: str) -> Remark:
        opinion, comment, text, priority, required = (self.values.get(f"{criterion}\n{name}", "") for name in _FIELDS)
        return Remark(
            criterion, cast(Opinion, opinion if opinion in OPINIONS else ""), comment, text or None, _priority(priority),
            _TRUTH.get(required),
        )  # fmt: skip


_FIELDS = ("opinion", "comment", "text", "priority", "required")


def _priority(value: str) -> Priority | None:
    return cast(Priority, value) if value in get_args(Priority) else None


def begun(mine: ExpertReview | None) -> Form:
    """Return the form as it begins."""
    return Form(mine.said if mine is not None else Said())


def area(label: str, value: str, do: Callable[[str], Any], test: str, rows: int = 3) -> kit.Tag:
    """Return a field for what an expert writes."""
    return kit.area(label, value, do, test, rows, LONGEST)


def line(label: str, value: str, do: Callable[[str], Any], test: str) -> kit.Tag:
    """Return a field for an expert's name."""
    return kit.line(label, value, do, test, 200, autocomplete="name")


# -- drawing --------------------------------------------------------------------------------------------------------------


def criterion(form: Form, asked: Asked) -> None:
    """Draw one criterion: what it asks, what decides it, on what it rests, and the fields to judge it in."""
    c = asked.criterion
    with kit.card("", test=f"criterion-{c.id}"):
        with kit.box("row"):
            kit.chip(c.priority, "warn" if c.priority in ("P0", "P1") else "")
            kit.chip("required" if c.required else "not required")
            if c.guard:
                kit.chip("guard")
            kit.text(f"{100 * asked.weight:.1f} % of the score", "faint num")
        kit.text(c.text, "said strong", "p")
        kit.text(f"{c.id}: {asked.check}", "faint", "p")
        rests_on(c.evidence)
        name = f"{c.id}\n"
        values = form.values
        with kit.box("row"):
            kit.choice(
                f"Your opinion of {c.id}", OPINIONS, values.get(f"{name}opinion", ""), form.setter(f"{name}opinion"),
                f"opinion-{c.id}",
            )  # fmt: skip
        area(
            f"Your comment on {c.id}",
            values.get(f"{name}comment", ""),
            form.setter(f"{name}comment"),
            f"comment-{c.id}",
            2,
        )
        with kit.fold("Propose a change", is_open=any(values.get(name + f) for f in _FIELDS[2:])), kit.box("stack"):
            kit.text("Its words, where they should be others", "label")
            area(
                f"Other words for {c.id}",
                values.get(f"{name}text") or c.text,
                form.setter(f"{name}text"),
                f"text-{c.id}",
                3,
            )
            with kit.box("row"):
                for field, options, words in (("priority", PRIORITIES, "Priority"), ("required", REQUIRED, "Required")):
                    kit.text(words, "label")
                    kit.choice(
                        f"{words} of {c.id}", options, values.get(name + field, ""), form.setter(name + field),
                        f"{field}-{c.id}",
                    )  # fmt: skip


def rests_on(evidence: Sequence[str]) -> None:
    """Draw the visible files that entail a criterion."""
    if evidence:
        with kit.fold(f"Rests on {len(evidence)} file{'' if len(evidence) == 1 else 's'}", "quiet-fold"):
            for path in evidence:
                kit.text(path, "mono said faint", "p")


def additions(form: Form) -> None:
    """Draw the criteria that the expert adds, and the way to add one."""
    with kit.card("Criteria you would add"):
        kit.text("A judge decides them; they are never required.", "hint", "p")
        rows = kit.box("stack")

        def draw(place: int) -> None:
            values = form.added[place]
            number = place + 1
            with rows, kit.box("stack", test=f"added-{number}"):
                area(
                    f"Added criterion {number}",
                    values["text"],
                    lambda v: values.update(text=v),
                    f"added-text-{number}",
                    2,
                )
                with kit.box("row"):
                    kit.choice(
                        f"Priority of added criterion {number}", {p: p for p in get_args(Priority)}, values["priority"],
                        lambda v: values.update(priority=v), f"added-priority-{number}",
                    )  # fmt: skip
                area(
                    f"Visible files that added criterion {number} rests on, one a line", values["evidence"],
                    lambda v: values.update(evidence=v), f"added-evidence-{number}", 2,
                )  # fmt: skip

        def add() -> None:
            form.added.append({"text": "", "priority": "P2", "evidence": ""})
            draw(len(form.added) - 1)

        for place in range(len(form.added)):
            draw(place)
        kit.button("Add a criterion", add, "small", "add", test="add-criterion")


def about(opened: Opened) -> list[tuple[str, str]]:
    """Return what a snapshot is, as names and values."""
    m = opened.manifest
    return [
        ("Office", f"{m.firm} (simulated)"), ("Moment", m.now), ("For", f"{m.principal_name}, {m.title}"), ("Work", m.work),
        ("Period", m.period), ("Round", str(m.round)), ("Reference", f"accepted in round {m.oracle_round}"),
        ("Snapshot", m.id), ("Version", m.hash[:16]),
    ]  # fmt: skip
