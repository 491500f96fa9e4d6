"""Compaction: a day's conversation in a few lines, with what was done since the last wake-up in a form to go on from."""

from __future__ import annotations

from services.offline.heard import Heard, calls_since, recorded
from services.offline.script import Answer, Call
from simulator.quoting import json_line

_READING = frozenset({
    "list_files", "open_file", "search", "read_room", "read_mail", "list_mail", "see_calendar", "free_busy", "list_work", "read_work",
    "list_colleagues", "read_memory",
})  # fmt: skip
_SAID = {
    "make_request": "asked {to} for {work} {period}", "delegate": "delegated {work} {period}", "review": "reviewed {delegation}: {decision}",
    "share": "shared {file}", "send_mail": "mailed {to}", "post_message": "wrote to {to}", "sign_off": "signed off {file}",
    "fulfil_request": "fulfilled {request}", "decline_request": "declined {request}", "accept_request": "accepted {request}",
}  # fmt: skip


def summary(me: Heard) -> str:
    """Return the summary of a day: earlier acts in words, those of the running activation exactly."""
    wake = next((i for i in range(len(me.messages) - 2, -1, -1) if me.messages[i].role == "user"), -1)
    earlier = [said for made, answer in calls_since(me.messages[:wake], -1) if (said := _words(made, answer))]
    since = [*recorded(me.messages[wake].content if wake >= 0 else ""), *calls_since(me.messages, wake)]
    now = [(made, answer) for made, answer in since if made.name not in _READING]
    lines = ["Done earlier today:", *(f"- {text}" for text in earlier[-40:] or ["nothing that lasts"])]
    if now:
        record = json_line([[made.name, made.arguments, answer] for made, answer in now])
        lines += ["", "Done since I was woken last:", "", "```json record", record, "```"]
    return "\n".join(lines)


def _words(made: Call, answer: Answer) -> str:
    pattern = _SAID.get(made.name)
    if pattern is None or not answer.get("ok"):
        return ""
    try:
        return pattern.format_map({k: v for k, v in made.arguments.items()})
    except KeyError:
        return made.name.replace("_", " ")
