"""A conversation as it was: what a person or an assistant was told, said, and called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from orchestrator.web.queries.sessions import ConversationShown, Said, ToolUsed
from orchestrator.web.ui import kit

CHARS = 6_000
"""Characters of one message that are shown."""
AT_ONCE = 40
_ROLES = {
    "system": "What they are told",
    "user": "What concerns them",
    "assistant": "Says",
    "tool": "Answer of the tool",
}


def draw(found: ConversationShown, speaker: str) -> None:
    """Draw the messages of a conversation."""
    with kit.Tag("ol", "talk", None, label=f"Conversation of {speaker}", test="conversation"):
        for message in found.messages:
            _message(message, speaker, earlier=message.number < found.own)


def _message(m: Said, speaker: str, earlier: bool) -> None:
    with kit.Tag("li", f"turn {m.role}{' earlier' if earlier else ''}"):
        kit.text(speaker if m.role == "assistant" else _ROLES.get(m.role, m.role), "turn-role")
        if m.role in ("system", "tool") or len(m.content) > 2_000:
            content = plain(m.content) if m.role == "tool" else m.content
            words = " ".join(content[:130].split())
            if len(content) > 120 or "\n" in content:
                with kit.fold(f"{words}…", "quiet-fold"):
                    kit.Tag("pre", "pre", content + ("\n… (cut)" if m.cut else ""), tabindex="0")
            else:
                kit.text(words or "(empty)", "said", "p")
        elif m.content:
            kit.text(m.content + ("… (cut)" if m.cut else ""), "said", "p")
        if m.reasoning:
            with kit.fold("Reasoning", "quiet-fold"):
                kit.text(m.reasoning, "said hint", "p")
        for call in m.tool_calls:
            with kit.fold(f"{call.name}({_short(call.arguments)})", "call"):
                kit.Tag("pre", "pre", plain(call.arguments), tabindex="0")


def plain(text: str, most: int = 60) -> str:
    """Return the JSON object that a tool takes or gives as lines of `name: value`; any other text as it is.

    A value of several lines stands below its name. What is no object, or was cut, stays as it was written.
    """
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    if not isinstance(found, dict):
        return text
    lines = []
    for name, value in list(found.items())[:most]:
        said = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
        lines.append(f"{name}:\n{said.rstrip()}" if "\n" in said.rstrip() else f"{name}: {said.rstrip()}")
    return "\n".join(lines)


def _short(arguments: str) -> str:
    flat = " ".join(arguments.strip().removeprefix("{").removesuffix("}").split())
    return flat if len(flat) <= 90 else f"{flat[:89]}…"


def tools(found: Iterable[ToolUsed], label: str) -> None:
    """Draw an assistant's tool calls: what was asked, what came of it, which files it changed."""
    with kit.Tag("ol", "talk", None, label=label, test="trajectory"):
        for tool in found:
            with kit.Tag("li", "turn tool-used"):
                kit.text(f"{tool.ordinal}. {tool.name}", "turn-role")
                kit.Tag("pre", "pre call-text", plain(tool.arguments), tabindex="0")
                _changes({"added": tool.added, "changed": tool.changed, "removed": tool.removed})
                result = plain(tool.result)
                with kit.fold(" ".join(result[:140].split()) or "(no output)", "quiet-fold"):
                    kit.Tag("pre", "pre", result + ("\n… (cut)" if tool.cut else ""), tabindex="0")
                if tool.note:
                    kit.text(tool.note, "hint", "p")


def _changes(found: Mapping[str, tuple[str, ...]]) -> None:
    for what, paths in found.items():
        for path in paths[:20]:
            with kit.box("row tight-row"):
                kit.chip(what, {"added": "good", "changed": "warn", "removed": "bad"}[what])
                kit.text(path, "mono")
