"""Every act there is: its tool name, who has it, its arguments and its handler (DESIGN 6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from simulator.acts import arguments as a
from simulator.acts import files, notes, talk, work
from simulator.acts.context import ActContext, Outcome, Refused
from simulator.canonical import clean_text
from simulator.conversation import ToolSpec
from simulator.errors import UsageError

Who = Literal["staff", "client", "meeting", "desk"]
"""Whose tool an act is; `desk` is for people outside who play a role, never for a model."""


class ActKind(msgspec.Struct, frozen=True):
    """One act: its arguments' struct, its handler, and whose tool it is."""

    arguments: type[a.Arguments]
    handler: Callable[[ActContext, Any], Outcome]
    who: tuple[Who, ...] = ("staff",)


ACTS: dict[str, ActKind] = {
    "post_message": ActKind(a.PostMessage, talk.post_message),
    "send_mail": ActKind(a.SendMail, talk.send_mail),
    "schedule": ActKind(a.Schedule, talk.schedule, ("staff", "meeting")),
    "respond": ActKind(a.Respond, talk.respond),
    "move": ActKind(a.Move, talk.move),
    "make_request": ActKind(a.MakeRequest, work.make_request, ("staff", "meeting")),
    "accept_request": ActKind(a.AcceptRequest, work.accept_request),
    "decline_request": ActKind(a.DeclineRequest, work.decline_request),
    "fulfil_request": ActKind(a.FulfilRequest, work.fulfil_request),
    "withdraw": ActKind(a.Withdraw, work.withdraw),
    "delegate": ActKind(a.Delegate, work.delegate),
    "answer_question": ActKind(a.AnswerQuestion, work.answer_question),
    "review": ActKind(a.ReviewWork, work.review),
    "change_team": ActKind(a.ChangeTeam, work.change_team),
    "save": ActKind(a.SaveFile, files.save),
    "receive": ActKind(a.Receive, files.receive, ("desk",)),
    "accept": ActKind(a.AcceptFile, files.accept),
    "sign_off": ActKind(a.SignOff, files.sign_off),
    "classify": ActKind(a.Classify, files.classify),
    "share": ActKind(a.ShareFile, files.share),
    "unshare": ActKind(a.Unshare, files.unshare),
    "note": ActKind(a.Note, notes.note, ("staff", "meeting")),
    "close_note": ActKind(a.CloseNote, notes.close_note),
    "write_mail": ActKind(a.ClientMail, talk.client_mail, ("client",)),
}


def decide(ctx: ActContext, tool: str, args: a.Arguments) -> Outcome:
    """Decide an act in the given circumstances.

    Raises:
        Refused: with the reason, in words for the person who tried.
    """
    try:
        return ACTS[tool].handler(ctx, cleaned(args))
    except UsageError as fault:
        raise Refused(str(fault)) from fault


_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def cleaned(args: a.Arguments) -> a.Arguments:
    """Return the arguments with clean texts (RULE 20): an escape such as `\\u0000` passes the port unseen."""
    changes: dict[str, Any] = {}
    for name in args.__struct_fields__:
        value = getattr(args, name)
        if isinstance(value, str) and _UNCLEAN.search(value):
            changes[name] = clean_text(value)
        elif isinstance(value, tuple) and any(isinstance(v, str) and _UNCLEAN.search(v) for v in value):
            changes[name] = tuple(clean_text(v) if isinstance(v, str) else v for v in value)
    return msgspec.structs.replace(args, **changes) if changes else args


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of an argument struct, inlined (small servers do not follow references)."""
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    inlined: dict[str, Any] = _inline(schema, components)
    return inlined


def _inline(node: Any, components: dict[str, Any]) -> Any:
    if isinstance(node, dict):
        if "$ref" in node:
            return _inline(components[node["$ref"].rsplit("/", 1)[1]], components)
        drop = ("title", "description") if node.get("type") == "object" else ("title",)
        return {k: _inline(v, components) for k, v in node.items() if k not in drop or not isinstance(v, str)}
    if isinstance(node, list):
        return [_inline(item, components) for item in node]
    return node


def act_tools(who: Who) -> tuple[ToolSpec, ...]:
    """Return the tools of the acts open to staff, clients, or people in a meeting."""
    return tuple(
        ToolSpec(name, " ".join((kind.arguments.__doc__ or name).split()), schema_of(kind.arguments))
        for name, kind in ACTS.items()
        if who in kind.who
    )


__all__ = ["ACTS", "ActContext", "ActKind", "Outcome", "Refused", "act_tools", "decide", "schema_of"]
