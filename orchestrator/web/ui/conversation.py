"""A conversation as it was: what a person or an assistant was told, said, and called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
            words = f"{m.content[:110].strip()}…" if len(m.content) > 110 else m.content or "(empty)"
            if len(m.content) > 110 or "\n" in m.content:
                with kit.fold(words.replace("\n", " "), "quiet-fold"):
                    kit.Tag("pre", "pre", m.content + ("\n… (cut)" if m.cut else ""), tabindex="0")
            else:
                kit.text(words, "said", "p")
        elif m.content:
            kit.text(m.content + ("… (cut)" if m.cut else ""), "said", "p")
        if m.reasoning:
            with kit.fold("Reasoning", "quiet-fold"):
                kit.text(m.reasoning, "said hint", "p")
        for call in m.tool_calls:
            with kit.fold(f"{call.name}({_short(call.arguments)})", "call"):
                kit.Tag("pre", "pre", call.arguments, tabindex="0")


def _short(arguments: str) -> str:
    flat = " ".join(arguments.strip().removeprefix("{").removesuffix("}").split())
    return flat if len(flat) <= 90 else f"{flat[:89]}…"


def tools(found: Iterable[ToolUsed], label: str) -> None:
    """Draw an assistant's tool calls: what was asked, what came of it, which files it changed."""
    with kit.Tag("ol", "talk", None, label=label, test="trajectory"):
        for tool in found:
            with kit.Tag("li", "turn tool-used"):
                kit.text(f"{tool.ordinal}. {tool.name}", "turn-role")
                kit.Tag("pre", "pre call-text", tool.arguments, tabindex="0")
                _changes({"added": tool.added, "changed": tool.changed, "removed": tool.removed})
                first = tool.result.strip().split("\n", 1)[0][:100]
                with kit.fold(first or "(no output)", "quiet-fold"):
                    kit.Tag("pre", "pre", tool.result + ("\n… (cut)" if tool.cut else ""), tabindex="0")
                if tool.note:
                    kit.text(tool.note, "hint", "p")


def _changes(found: Mapping[str, tuple[str, ...]]) -> None:
    for what, paths in found.items():
        for path in paths[:20]:
            with kit.box("row tight-row"):
                kit.chip(what, {"added": "good", "changed": "warn", "removed": "bad"}[what])
                kit.text(path, "mono")
