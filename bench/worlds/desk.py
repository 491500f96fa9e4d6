"""A system of record: its definition, its state and a call in; what is observed and the new state out. Pure.

The one implementation behind the tools of a running office and the command in a frozen task. Standard library alone
(`bench.worlds.carried`). Definition and state are JSON with sorted keys. What goes wrong is an observation: a
declaration that meets data its author did not foresee refuses the call, and never ends an office's run.
"""

from __future__ import annotations

import json
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from .arguments import argument_faults
from .effects import EffectFault, Evaluator, perform
from .pointers import PatchFault

STATE_BYTES = 1_000_000
"""What a state may come to; a call that would make it larger is refused."""


class Answer(NamedTuple):
    """What a call gave: the observation as JSON on one line, the state after it, whether it was carried out."""

    observation: str
    state: bytes
    ok: bool


def encode(value: Any) -> bytes:
    """Return a value as JSON: sorted keys, no white space, UTF-8. Raises ValueError for what JSON cannot say."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def decode(data: bytes | str) -> Any:
    """Read JSON; numbers that JSON does not know raise ValueError."""
    return json.loads(data, parse_constant=_refuse)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def answer(definition: bytes, state: bytes, tool: str, raw: str, day: str) -> Answer:
    """Answer one call of `tool` with the arguments `raw` (JSON as the caller wrote it) on `day` (an ISO date)."""
    try:
        return _answer(_read(definition), state, tool, raw, day)
    except (EffectFault, PatchFault) as fault:
        return _refused(state, f"This call could not be carried out: {fault}")
    # Whatever arithmetic or look-up a declaration did with values of a kind it was not made for.
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        return _refused(state, "This call could not be carried out: the system cannot work with these values.")


def _answer(definition: dict[str, Any], state: bytes, name: str, raw: str, day: str) -> Answer:
    tool = definition["tools"].get(name)
    if tool is None:
        return _refused(state, f"There is no tool {name[:80]}. The tools are: {', '.join(definition['tools'])}.")
    arguments = _arguments(raw)
    faults = ("they must be a JSON object.",) if arguments is None else argument_faults(arguments, tool["parameters"])
    if arguments is None or faults:
        return _refused(state, f"The arguments of {name} do not fit: {' '.join(faults)}")
    done = perform(tool["effect"], decode(state), arguments, day)
    observation = encode(done.observation).decode()
    if done.refused:
        return Answer(observation, state, False)
    after = encode(done.state)
    if len(after) > STATE_BYTES:
        return _refused(state, "The system is full: nothing more can be entered.")
    for invariant in definition["invariants"] if after != state else ():
        if not Evaluator(decode(after), day).holds(invariant["must"], {}):
            return _refused(state, invariant["text"], invariant["id"])
    return Answer(observation, after, True)


def _refused(state: bytes, text: str, code: str = "") -> Answer:
    told = {"error": text, "code": code} if code else {"error": text}
    return Answer(encode(told).decode(), state, False)


def _arguments(raw: str) -> dict[str, Any] | None:
    """Return the arguments as an object; an empty text is no arguments."""
    try:
        value = decode(raw) if raw.strip() else {}
        encode(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@lru_cache(maxsize=64)
def _read(data: bytes) -> dict[str, Any]:
    """Read a definition: tools by name, each effect as `perform` takes it. Nobody changes what is returned."""
    raw = decode(data)
    return {"invariants": raw["invariants"], "tools": {t["name"]: {**t, "effect": _effect(t["effect"])} for t in raw["tools"]}}


def _effect(raw: dict[str, Any]) -> Any:
    """The order of `let` matters, so it is stored as pairs."""
    return SimpleNamespace(
        let=dict(raw["let"]),
        checks=tuple(SimpleNamespace(**check) for check in raw["checks"]),
        patch=tuple(SimpleNamespace(**rule) for rule in raw["patch"]),
        returns=raw["returns"],
    )
