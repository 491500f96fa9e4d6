"""One activation: what woke it, what it was reminded of, what was said, and what its model calls cost."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.queries import sessions
from orchestrator.web.queries.sessions import ActivationShown, ConversationShown
from orchestrator.web.ui import conversation, kit, mail, people
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell

_LONGEST_ID = 300


class Shown(msgspec.Struct, frozen=True):
    """One activation with a part of one of its conversations."""

    activation: ActivationShown
    session: str
    talk: ConversationShown | None
    names: Mapping[str, str]
    speakers: Mapping[str, str]
    currency: str


def load(ask: Ask) -> Shown:
    """Return the activation of the address."""
    name = ask.get("activation")[:_LONGEST_ID]
    found = sessions.activation(ask.book, name)
    session = ask.get("session")
    skip = ask.number("skip") if ask.get("skip") else None
    talk = people.talk_of(ask, name, session, skip)
    office = ask.office
    names = {p.id: p.name for p in office.people.values()}
    speakers = {p.session: p.name for p in office.people.values() if p.session}
    return Shown(found, session, talk, names, speakers, office.currency)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw it."""
    line = shown.activation.line
    kit.heading(f"{line.actor_name}, {line.began.local.replace('T', ' ')[:16]}", 1)
    with kit.box("two"):
        with kit.card("What was said"):
            _talk(shell, shown)
        with kit.box("stack wide-gap"):
            with kit.card("About"):
                kit.facts((
                    ("Until", line.ended.local.replace("T", " ")[:16] or "under way"), ("Turns", str(line.turns or "")),
                    ("Outcome", line.outcome), ("People", ", ".join(shown.names.get(p, p) for p in shown.activation.people)),
                    ("Reads", f"the office as of revision {line.revision:,}"),
                ))  # fmt: skip
                if line.kind == "segment":
                    kit.link("The delegated work it belongs to", shell.url("delegation", delegation=line.ref))
            with kit.card("Woken by"):
                for c in shown.activation.woken_by:
                    with kit.box("feed-line"):
                        kit.text(people.short(c.since), "time")
                        kit.text(c.text)
                if not shown.activation.woken_by:
                    kit.empty("Nothing but the clock.")
            _calls(shown)
    if shown.activation.injected is not None:
        kit.heading("Reminded of", 2)
        people.injected(shown.activation.injected)


def _talk(shell: Shell, shown: Shown) -> None:
    found = shown.activation.sessions
    if len(found) > 1:
        options = {s: _whose(s, shown) for s in found}
        current = shown.talk.session if shown.talk is not None else found[0]
        kit.tabs("Which conversation", options, current, lambda v: shell.turn(session=v, skip=""), "conversation-tab")
    if shown.talk is None:
        kit.empty("Nothing has been said yet.")
        return
    first = shown.talk.messages[0].number if shown.talk.messages else 0
    mail.pager(shell, first, conversation.AT_ONCE, shown.talk.total, "Before", "After")
    conversation.draw(shown.talk, shown.activation.line.actor_name)


def _whose(session: str, shown: Shown) -> str:
    whole, _, branch = session.partition("/")
    name = shown.speakers.get(whole, shown.activation.line.actor_name)
    return f"{name}: {branch.replace('-', ' ')}" if branch else name


def _calls(shown: Shown) -> None:
    calls = shown.activation.calls
    with kit.card(f"Model calls: {len(calls)}"):
        rows = [
            (str(c.ordinal), c.model, f"{c.input_tokens:,}", f"{c.output_tokens:,}", money(c.cost_micros, shown.currency), c.finish)
            for c in calls[:100]
        ]  # fmt: skip
        if rows:
            kit.table("Model calls", ("#", "Model", "In", "Out", "Cost", "End"), rows, "calls")
            kit.text(f"Together {money(shown.activation.cost_micros, shown.currency)}", "faint")
        else:
            kit.empty("None has been answered yet.")


def money(micros: int, currency: str) -> str:
    """Return an amount in millionths in words; a dash for nothing."""
    return f"{micros / 1_000_000:,.4f} {currency}" if micros else "–"


PAGE = Page("session", PATHS["session"], "Conversation", "forum", load, draw, menu=False, under="people")
