"""What a simulator got wrong, found by code: things that are nowhere, things left out, rules that nobody made.

Where a tool declares its effect, that declaration is the yardstick. Elsewhere the state is: an id of the state's own
kinds that is not in it was made up; an entity that vanishes under a tool that removes nothing was forgotten; a refusal
must quote its rule, and the quote must be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bench.worlds.checks import dangling_references, holds
from bench.worlds.effects import Done, EffectFault, perform
from bench.worlds.faults import known_words
from bench.worlds.model import Detection, DetectionKind, Environment, Tool
from bench.worlds.pointers import MISSING, find, leaves, parse, same
from simulator.canonical import canonical

_DIGITS = re.compile(r"\d+")
_ID_KEY = re.compile(r"(?i)(^|_)(ids?|code|sku|tag)$|[a-z]Ids?$")
_QUANTITY = re.compile(r"\b(\d+(?:\.\d+)?)[ -]?(%|percent|days?|hours?|minutes?|months?|weeks?|years?)", re.IGNORECASE)
_REMOVES = re.compile(
    r"(?i)remov|delet|cancel|clos|complet|clear|dismiss|resolv|withdraw|expire|retire|process|release|merge|archiv|"
    r"publish|reject|purge|dispatch|seat|pick|move"
)
_LISTS = re.compile(r"(?i)^(list|get|query|fetch|show|search|read)_")
_WORD = re.compile(r"[a-z0-9]+")
_COMMON = frozenset({"error", "code", "message", "status", "success", "ok", "reason", "details"})
REFUSED = frozenset({"error", "failure"})
GROWTH_FACTOR, GROWTH_BYTES = 4, 20_000
MOST_DROPPED = 0.3


class Finding(msgspec.Struct, frozen=True):
    """A detection, whether it asks for another answer, and whether the patch must not be used."""

    kind: DetectionKind
    text: str
    repair: bool = True
    rejects: bool = False

    def detection(self, repaired: bool = False) -> Detection:
        return Detection(self.kind, self.text, repaired)


class Answer(msgspec.Struct, frozen=True):
    """An answer to judge: observation, the state it leads to (None in stateless mode), the rule quoted."""

    tool: Tool
    arguments: dict[str, Any]
    before: dict[str, Any]
    observation: Any
    after: dict[str, Any] | None
    rule: str | None = None
    heard: frozenset[str] = frozenset()
    """Words of earlier observations."""


def is_refusal(observation: Any) -> bool:
    """Whether an observation is an error."""
    if not isinstance(observation, Mapping):
        return False
    error = observation.get("error", observation.get("errors"))
    if error:
        return True
    status = observation.get("status")
    return observation.get("success") is False or (isinstance(status, str) and status.lower() in REFUSED)


def is_empty(observation: Any) -> bool:
    """Whether an observation holds no finding: nothing, nulls, empty lists and texts only."""
    if isinstance(observation, Mapping):
        return all(is_empty(value) for value in observation.values())
    if isinstance(observation, list):
        return all(is_empty(value) for value in observation)
    return observation is None or observation == "" or observation in ("none", "N/A", "unknown")


def findings(environment: Environment, answer: Answer, today: str) -> list[Finding]:
    """Return everything that is wrong with an answer, in a fixed order."""
    expected = expected_of(answer, today)
    found = [*_observation(environment, answer)]
    if answer.after is not None:
        found += _state(environment, answer, today)
    found += _entities(environment, answer, expected)
    found += _rules(environment, answer, expected)
    if expected is not None and answer.after is not None:
        found += _changes(answer, expected)
    return found


def expected_of(answer: Answer, today: str) -> Done | None:
    """Return what the declared effect makes of the call, or None where none is declared."""
    if answer.tool.effect is None:
        return None
    try:
        return perform(answer.tool.effect, answer.before, answer.arguments, today)
    except EffectFault:
        return None


# -- the observation ---------------------------------------------------------------------------------------------------


def _observation(environment: Environment, answer: Answer) -> Iterator[Finding]:
    seen, example = answer.observation, answer.tool.example_output
    if not isinstance(seen, dict | list) or (isinstance(example, dict) and not isinstance(seen, dict)):
        yield Finding("bad_observation", "The observation must be a JSON object, as in the tool's example.")
        return
    if not isinstance(seen, dict):
        return
    big = [key for key, value in answer.before.items() if isinstance(value, dict | list) and value]
    shown = [key for key in big if key in seen and same(seen[key], answer.before[key])]
    asked = set(example) if isinstance(example, dict) else set()
    if len(big) > 1 and len(shown) == len(big) and not set(shown) <= asked:
        yield Finding("state_leaked", "The observation shows the whole state; an agent sees what the tool returns.")
    elif isinstance(example, dict) and example:
        extra = sorted(set(seen) - set(example) - _COMMON)
        if extra and not is_refusal(seen):
            text = f"The observation has fields that the tool does not return: {', '.join(extra)[:200]}."
            yield Finding("undeclared_field", text, repair=False)


# -- the state ---------------------------------------------------------------------------------------------------------


def _state(environment: Environment, answer: Answer, today: str) -> Iterator[Finding]:
    before, after = answer.before, answer.after
    assert after is not None
    gone = [key for key in before if key not in after]
    had, have = sum(1 for _ in leaves(before)), sum(1 for _ in leaves(after))
    if gone or have < had * (1 - MOST_DROPPED) - 3:
        what = ", ".join(gone) if gone else f"{had - have} of {had} values"
        yield Finding("state_dropped", f"The change drops {what} from the state.", rejects=True)
    start = len(canonical(environment.initial_state))
    size = len(canonical(after))
    if size > max(GROWTH_FACTOR * start, start + GROWTH_BYTES):
        text = f"The state has grown to {size} bytes from {start}: keep only what is true now, no logs."
        yield Finding("state_growth", text, rejects=True)
    for reference in environment.references:
        old = set(dangling_references(before, reference.path, reference.to))
        new = [text for text in dangling_references(after, reference.path, reference.to) if text not in old]
        yield from (Finding("dangling_reference", f"{text}.", rejects=True) for text in new[:3])
    for invariant in environment.invariants:
        if not holds(invariant.must, after, today) and holds(invariant.must, before, today):
            yield Finding("broken_invariant", f"The new state breaks a rule: {invariant.text}", rejects=True)


def _changes(answer: Answer, expected: Done) -> Iterator[Finding]:
    """Find what the tool changes by its declaration and the answer did not."""
    assert answer.after is not None
    if expected.refused or is_refusal(answer.observation):
        return
    for operation in expected.patch:
        path = parse(operation["path"])
        want, have = find(expected.state, path), find(answer.after, path)
        if operation["op"] == "add" and have is MISSING:
            parent = find(answer.after, path[:-1])
            grown = isinstance(parent, dict) and len(parent) > len(find(answer.before, path[:-1]) or {})
            if grown:
                continue
        if have is MISSING or want is MISSING:
            if have is not want:
                yield Finding(
                    "forgotten_change", f"The call changes {operation['path']}, and the state does not say so."
                )
        elif not isinstance(want, dict | list) and not same(want, have):
            yield Finding(
                "forgotten_change", f"After the call {operation['path']} should be {_short(want)}, not {_short(have)}."
            )


def _short(value: Any) -> str:
    return canonical(value).decode()[:80]


# -- entities ----------------------------------------------------------------------------------------------------------


def entity_ids(state: Any, collections: Sequence[str] = ()) -> set[str]:
    """Return the ids of a state: keys of maps of objects, keys of declared collections, texts under keys called id."""
    found: set[str] = set()
    for pointer in collections:
        group = find(state, parse(pointer))
        found |= set(group) if isinstance(group, Mapping) else set()
    return found | set(_ids(state, ""))


def _ids(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        inner = list(value.values())
        if key and inner and all(isinstance(item, Mapping) for item in inner):
            yield from (name for name in value if _is_entity(name, len(inner)))
        for name, item in value.items():
            yield from _ids(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _ids(item, key)
    elif isinstance(value, str) and value and _ID_KEY.search(key):
        yield value


def _is_entity(name: str, count: int) -> bool:
    return bool(_DIGITS.search(name)) or count > 1


def _shape(name: str) -> str:
    return _DIGITS.sub("#", name)


def _mentioned(value: Any) -> Iterator[str]:
    """Yield the texts of an observation that could be ids: values, and keys of maps of objects."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, Mapping):
                yield str(key)
            yield from _mentioned(item)
    elif isinstance(value, list):
        for item in value:
            yield from _mentioned(item)
    elif isinstance(value, str):
        yield value


def _entities(environment: Environment, answer: Answer, expected: Done | None) -> Iterator[Finding]:
    after = answer.after if answer.after is not None else answer.before
    old, new = (entity_ids(state, environment.collections) for state in (answer.before, after))
    words = known_words(answer.before) | known_words(after) | known_words(answer.arguments) | answer.heard
    if expected is not None:
        words |= known_words(expected.observation)
    shapes = {_shape(name) for name in old if _DIGITS.search(name) and not name[0].isdigit()}
    for name in dict.fromkeys(_mentioned(answer.observation)):
        if name not in words and _DIGITS.search(name) and _shape(name) in shapes:
            yield Finding("fabricated_entity", f"{name[:80]!r} is nowhere in the state.")
    if answer.after is not None:
        yield from _changed_entities(environment, answer, old, new)
    yield from _omitted(environment, answer, expected)


def _changed_entities(environment: Environment, answer: Answer, old: set[str], new: set[str]) -> Iterator[Finding]:
    """Find entities that a call put into the state or took from it, and may not."""
    tool = answer.tool
    declared = tool.effect is not None
    for pointer in environment.collections:
        path = parse(pointer)
        had, have = find(answer.before, path), find(answer.after, path)
        if not isinstance(had, Mapping) or not isinstance(have, Mapping):
            continue
        made = sorted(set(have) - set(had))
        if made and declared and pointer not in tool.creates:
            text = f"{tool.name} makes nothing in {pointer}, and {made[0]!r} appeared there."
            yield Finding("fabricated_entity", text, rejects=True)
        lost = sorted(set(had) - set(have))
        if lost and declared and pointer not in tool.removes:
            yield Finding("omitted_entity", f"{lost[0]!r} vanished from {pointer}.", rejects=True)
    if not declared and not _REMOVES.search(f"{tool.name} {tool.description}"):
        gone = sorted(old - new - known_words(answer.after))
        if gone:
            yield Finding("omitted_entity", f"{gone[0]!r} vanished from the state under {tool.name}.", rejects=True)


def _omitted(environment: Environment, answer: Answer, expected: Done | None) -> Iterator[Finding]:
    said = known_words(answer.observation) | set(_numbered(answer.observation))
    if is_refusal(answer.observation):
        return
    if expected is not None:
        ids = entity_ids(answer.before, environment.collections)
        left_out = sorted((known_words(expected.observation) & ids) - said)
        if left_out and not expected.refused:
            yield Finding("omitted_entity", f"The observation leaves out {', '.join(left_out[:5])}.")
        return
    # Without arguments nothing was asked to be left out: a list of the state's entities is then a list of all of them,
    # or of those that the tool itself speaks of.
    if answer.arguments or not _LISTS.match(answer.tool.name):
        return
    for group in _groups(answer.before):
        shown = group.keys() & said
        if len(shown) > 1 and len(shown) < len(group) and len(shown) * 2 >= len(group):
            left_out = sorted(group.keys() - shown)
            if not _filtered(answer.tool, [group[name] for name in shown], [group[name] for name in left_out]):
                yield Finding("omitted_entity", f"The observation leaves out {', '.join(left_out[:5])}.")


def _filtered(tool: Tool, shown: Sequence[Mapping[str, Any]], left_out: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a tool names a trait that all of the shown have and none of the others: it lists the open ones, say."""
    words = set(_WORD.findall(f"{tool.name} {tool.description}".lower().replace("_", " ")))
    theirs = set.intersection(*map(_traits, shown)).difference(*map(_traits, left_out))
    return any(trait and words.issuperset(trait) for trait in theirs)


def _traits(item: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return what is true of an entity, each in words: the texts of its fields, and its fields that are true."""
    texts = (key if value is True else value for key, value in item.items())
    return {tuple(_WORD.findall(text.lower().replace("_", " "))) for text in texts if isinstance(text, str)}


def _numbered(value: Any) -> Iterator[str]:
    """Yield the whole numbers that stand under keys called id, as texts."""
    for path, found in leaves(value):
        key = next((part for part in reversed(path) if not part.isdigit()), "")
        if isinstance(found, int) and not isinstance(found, bool) and _ID_KEY.search(key):
            yield str(found)


def _groups(value: Any) -> Iterator[dict[str, Mapping[str, Any]]]:
    """Yield the entities of each map of objects and each list of objects, by id."""
    if isinstance(value, Mapping):
        inner = list(value.values())
        if len(inner) > 2 and all(isinstance(item, Mapping) for item in inner):
            yield dict(value)
        for item in inner:
            yield from _groups(item)
    elif isinstance(value, list):
        named = [(_own_id(item), item) for item in value if isinstance(item, Mapping)]
        if len(named) > 2 and all(name is not None for name, _ in named):
            yield {name: item for name, item in named if name is not None}


def _own_id(item: Mapping[str, Any]) -> str | None:
    """Return what an object is called: its first id, or its name."""
    for key, value in item.items():
        plain = isinstance(value, str | int) and not isinstance(value, bool)
        if plain and (_ID_KEY.search(key) or (key == "name" and isinstance(value, str))):
            return str(value)
    return None


# -- rules -------------------------------------------------------------------------------------------------------------


def _rules(environment: Environment, answer: Answer, expected: Done | None) -> Iterator[Finding]:
    refused = is_refusal(answer.observation)
    if expected is not None:
        if refused and not expected.refused:
            yield Finding("invented_rule", f"Nothing forbids this call of {answer.tool.name}, and it was refused.")
        elif expected.refused and not refused:
            why = expected.observation.get("error", "a rule")
            yield Finding("ignored_rule", f"The call must be refused: {why}", rejects=True)
        return
    known = _rule_text(environment, answer)
    invented = next((q for q in _quantities(answer.observation) if q[0] not in known[1]), None) if refused else None
    if invented:
        yield Finding("invented_rule", f"No rule, field or argument knows of {invented[1]!r}.")
    elif refused and answer.after is not None and not _needs_no_rule(answer):
        quote = " ".join(_WORD.findall((answer.rule or "").lower()))
        if len(quote) < 8 or quote not in known[0]:
            text = "A refusal must quote its rule word for word from the rules, and this one quotes none that is there."
            yield Finding("invented_rule", text)


def _needs_no_rule(answer: Answer) -> bool:
    """Whether the call names something that does not exist: no rule is needed to refuse that."""
    words = known_words(answer.before)
    named = [value for _, value in leaves(answer.arguments) if isinstance(value, str) and value]
    return any(value not in words and len(value) < 60 for value in named)


def _rule_text(environment: Environment, answer: Answer) -> tuple[str, set[str]]:
    """Return all that may carry a rule, as words in a row, and the numbers in it and in state and arguments."""
    parts = [environment.rules, environment.prompt, *environment.fields.values()]
    parts += [invariant.text for invariant in environment.invariants]
    parts += [tool.description for tool in environment.tools]
    texts = " ".join(parts)
    rest = canonical([answer.before, answer.arguments, answer.tool.parameters, answer.tool.example_output]).decode()
    numbers = {number for number in re.findall(r"\d+(?:\.\d+)?", f"{texts} {rest}")}
    state_texts = " ".join(str(value) for _, value in leaves(answer.before) if isinstance(value, str))
    return " ".join(_WORD.findall(f"{texts} {state_texts}".lower())), numbers


def _quantities(observation: Any) -> Iterator[tuple[str, str]]:
    for _, value in leaves(observation):
        if isinstance(value, str):
            yield from ((match[1], match[0]) for match in _QUANTITY.finditer(value))
