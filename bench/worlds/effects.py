"""The small language in which an environment declares what its tools do. It is data: nothing in it is ever executed.

An expression is any JSON value. A text that begins with `$` names a value (`$room`, `$item.status`; `$$` writes a
dollar); an object with one key that begins with `$` is an operation (`{$eq: [$room, A]}`); every other object or list
is made of expressions. What is not there is null, arithmetic with null is null, and null is neither less nor greater
than anything. `docs/worlds.md` lists the operations.

Standard library alone: a frozen task carries this file (`bench.worlds.carried`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from .pointers import MISSING, PatchFault, Path, apply, escape, find, parse, same

if TYPE_CHECKING:
    from bench.worlds.model import Effect, PatchRule

MOST_OPERATIONS = 200_000
_NAME = re.compile(r"\{([A-Za-z_][\w.]*)\}")
Names = Mapping[str, Any]


class EffectFault(ValueError):
    """A declared effect cannot be carried out: the environment is wrong, not the agent."""


class Done(NamedTuple):
    """What a call did: the observation, the state after, the patch between. `refused` is the failed check's number from
    1, or 0."""

    observation: Any
    state: dict[str, Any]
    patch: tuple[dict[str, Any], ...] = ()
    refused: int = 0


class Evaluator:
    """Evaluates expressions over one state and today's date. It bounds its own work."""

    def __init__(self, state: Mapping[str, Any], today: str) -> None:
        self.state = state
        self.today = today
        self._left = MOST_OPERATIONS

    def value(self, expression: Any, names: Names) -> Any:
        """Return what an expression stands for. Raises `EffectFault` where it is not well formed."""
        self._left -= 1
        if self._left < 0:
            raise EffectFault("the expression does more work than is allowed; make it or the state smaller.")
        if isinstance(expression, str):
            return self._text(expression, names)
        if isinstance(expression, list):
            return [self.value(item, names) for item in expression]
        if isinstance(expression, Mapping):
            operation = operation_of(expression)
            if operation is None:
                return {key: self.value(item, names) for key, item in expression.items()}
            return _OPERATIONS[operation](self, expression[operation], names)
        return expression

    def holds(self, expression: Any, names: Names) -> bool:
        """Whether an expression stands for true."""
        return self.value(expression, names) is True

    def _text(self, text: str, names: Names) -> Any:
        if text.startswith("$$"):
            return text[1:]
        return self.named(text[1:], names) if text.startswith("$") and len(text) > 1 else text

    def named(self, dotted: str, names: Names) -> Any:
        """Return the value of a dotted name, or null."""
        head, *rest = dotted.split(".")
        if head == "today":
            return self.today
        found = find(names.get(head), tuple(rest))
        return None if found is MISSING else found

    def pointer(self, template: Any, names: Names) -> Path | None:
        """Return the path of a pointer with `{names}` filled in; None where one of them is null."""
        if not isinstance(template, str):
            raise EffectFault(f"a pointer must be text, not {type(template).__name__}.")
        whole = True

        def fill(match: re.Match[str]) -> str:
            nonlocal whole
            value = self.named(match[1], names)
            whole = whole and value is not None and not isinstance(value, dict | list)
            return escape(plain(value))

        filled = _NAME.sub(fill, template)
        return parse(filled) if whole else None

    def read(self, template: Any, names: Names) -> Any:
        """Return what stands at a pointer of the state, or null."""
        path = self.pointer(template, names)
        found = MISSING if path is None else find(self.state, path)
        return None if found is MISSING else found

    def filled(self, template: str, names: Names) -> str:
        """Return a text with `{names}` filled in."""
        return _NAME.sub(lambda match: plain(self.named(match[1], names)), template)


def plain(value: Any) -> str:
    """Return a value as it is written in a text or as a key."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ", ".join(plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict) else str(value)


def operation_of(expression: Mapping[str, Any]) -> str | None:
    """Return the operation an object stands for, or None. Raises `EffectFault` for one that does not exist."""
    marked = [key for key in expression if key.startswith("$")]
    if not marked:
        return None
    if len(expression) != 1:
        raise EffectFault(f"an operation stands alone in its object, and {marked[0]} does not.")
    if marked[0] not in _OPERATIONS:
        raise EffectFault(f"there is no operation {marked[0]}; known are {', '.join(sorted(_OPERATIONS))}.")
    return marked[0]


# -- operations --------------------------------------------------------------------------------------------------------


def _pair(e: Evaluator, operand: Any, names: Names, count: int = 2) -> list[Any]:
    if not isinstance(operand, list) or len(operand) != count:
        raise EffectFault(f"the operation takes a list of {count} values.")
    return [e.value(item, names) for item in operand]


def _values(e: Evaluator, operand: Any, names: Names) -> list[Any]:
    found = e.value(operand, names)
    if found is None:
        return []
    return list(found.values()) if isinstance(found, Mapping) else found if isinstance(found, list) else [found]


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(repr(value))


def _back(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() and abs(value) < 10**15 else float(value)


def _arithmetic(step: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Evaluator, Any, Names], Any]:
    def run(e: Evaluator, operand: Any, names: Names) -> Any:
        numbers = [_number(value) for value in _values(e, operand, names)]
        if not numbers or any(number is None for number in numbers):
            return None
        total = numbers[0]
        for number in numbers[1:]:
            assert total is not None and number is not None
            total = step(total, number)
        assert total is not None
        return _back(total)

    return run


def _divide(e: Evaluator, operand: Any, names: Names) -> Any:
    a, b = (_number(value) for value in _pair(e, operand, names))
    return None if a is None or b is None or b == 0 else _back(a / b)


def _compare(holds: Callable[[Any, Any], bool]) -> Callable[[Evaluator, Any, Names], bool]:
    def run(e: Evaluator, operand: Any, names: Names) -> bool:
        a, b = _pair(e, operand, names)
        if isinstance(a, str) and isinstance(b, str):
            return holds(a, b)
        left, right = _number(a), _number(b)
        return left is not None and right is not None and holds(left, right)

    return run


def _in(e: Evaluator, operand: Any, names: Names) -> bool:
    item, group = _pair(e, operand, names)
    if isinstance(group, str):
        return isinstance(item, str) and item in group
    if isinstance(group, Mapping):
        return isinstance(item, str) and item in group
    return isinstance(group, list) and any(same(item, other) for other in group)


def _round(e: Evaluator, operand: Any, names: Names) -> Any:
    value, digits = _pair(e, operand, names)
    number = _number(value)
    if number is None or not isinstance(digits, int):
        return None
    return _back(number.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[Evaluator, Any, Names], Any]:
    def run(e: Evaluator, operand: Any, names: Names) -> Any:
        values = [value for value in _values(e, operand, names) if value is not None]
        texts = all(isinstance(value, str) for value in values)
        if not values or not (texts or all(_number(value) is not None for value in values)):
            return None
        return pick(values)

    return run


def _count(e: Evaluator, operand: Any, names: Names) -> int:
    found = e.value(operand, names)
    return len(found) if isinstance(found, list | dict | str) else 0


def _loop(e: Evaluator, operand: Any, names: Names, allowed: frozenset[str]) -> Iterator[Names]:
    """Yield the names within each round of a loop: the item under `as` (default `item`), its key under `key`."""
    if not isinstance(operand, Mapping) or "in" not in operand:
        raise EffectFault("a loop takes an object with `in`.")
    if unknown := set(operand) - allowed:
        raise EffectFault(f"a loop of this kind has no `{min(unknown)}`.")
    group = e.value(operand["in"], names)
    pairs = group.items() if isinstance(group, Mapping) else enumerate(group) if isinstance(group, list) else ()
    for key, item in pairs:
        inner = {**names, operand.get("as", "item"): item, "key": key}
        if "where" not in operand or e.holds(operand["where"], inner):
            yield inner


def _each(e: Evaluator, operand: Any, names: Names) -> list[Any]:
    kept = list(_loop(e, operand, names, frozenset({"in", "as", "where", "take", "sort", "limit"})))
    if "sort" in operand:
        ranks = [e.value(operand["sort"], inner) for inner in kept]
        order = sorted(range(len(kept)), key=lambda at: _rank(ranks[at]))
        kept = [kept[at] for at in order]
    limit = e.value(operand.get("limit"), names)
    kept = kept[: max(0, limit)] if isinstance(limit, int) else kept
    name = operand.get("as", "item")
    return [e.value(operand["take"], inner) if "take" in operand else inner[name] for inner in kept]


def _rank(value: Any) -> tuple[int, Decimal, str]:
    number = _number(value)
    return (0, number, "") if number is not None else (1, Decimal(0), plain(value))


def _every(e: Evaluator, operand: Any, names: Names) -> bool:
    kept = _loop(e, operand, names, frozenset({"in", "as", "where", "must"}))
    return all(e.holds(operand.get("must"), inner) for inner in kept)


def _some(e: Evaluator, operand: Any, names: Names) -> bool:
    return any(True for _ in _loop(e, operand, names, frozenset({"in", "as", "where"})))


def _next_id(e: Evaluator, operand: Any, names: Names) -> str:
    place, prefix = operand if isinstance(operand, list) and len(operand) == 2 else (None, None)
    group, start = e.read(place, names), str(prefix)
    keys = list(group) if isinstance(group, Mapping) else []
    numbers = [int(key[len(start) :]) for key in keys if key.startswith(start) and key[len(start) :].isdigit()]
    return f"{start}{max(numbers, default=0) + 1:03d}"


def _pick(e: Evaluator, operand: Any, names: Names) -> Any:
    whole, fields = _pair(e, operand, names)
    return {field: whole.get(field) for field in fields} if isinstance(whole, Mapping) else None


def _merge(e: Evaluator, operand: Any, names: Names) -> Any:
    out: dict[str, Any] = {}
    for part in _values(e, operand, names):
        out.update(part if isinstance(part, Mapping) else {})
    return out


def _get(e: Evaluator, operand: Any, names: Names) -> Any:
    whole, key = _pair(e, operand, names)
    found = MISSING if key is None else find(whole, (plain(key),))
    return None if found is MISSING else found


def _if(e: Evaluator, operand: Any, names: Names) -> Any:
    if not isinstance(operand, list) or len(operand) != 3:
        raise EffectFault("$if takes a list of 3: condition, then, else.")
    return e.value(operand[1] if e.holds(operand[0], names) else operand[2], names)


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def _days_between(e: Evaluator, operand: Any, names: Names) -> int | None:
    a, b = (_day(value) for value in _pair(e, operand, names))
    return None if a is None or b is None else (b - a).days


def _add_days(e: Evaluator, operand: Any, names: Names) -> str | None:
    start, days = _pair(e, operand, names)
    day = _day(start)
    good = day is not None and isinstance(days, int) and not isinstance(days, bool) and abs(days) < 100_000
    return (day + timedelta(days=days)).isoformat() if good and day is not None else None


def _all(e: Evaluator, operand: Any, names: Names) -> bool:
    return all(e.holds(item, names) for item in _listed(operand))


def _any(e: Evaluator, operand: Any, names: Names) -> bool:
    return any(e.holds(item, names) for item in _listed(operand))


def _listed(operand: Any) -> list[Any]:
    if not isinstance(operand, list):
        raise EffectFault("$all and $any take a list of conditions.")
    return operand


def _keys(e: Evaluator, operand: Any, names: Names) -> list[Any]:
    found = e.value(operand, names)
    return list(found) if isinstance(found, Mapping) else []


def _exists(e: Evaluator, operand: Any, names: Names) -> bool:
    path = e.pointer(operand, names)
    return path is not None and find(e.state, path) is not MISSING


def _write(e: Evaluator, operand: Any, names: Names) -> str:
    return e.filled(str(operand), names)


def _lower(e: Evaluator, operand: Any, names: Names) -> str:
    return plain(e.value(operand, names)).lower()


_OPERATIONS: dict[str, Callable[[Evaluator, Any, Names], Any]] = {
    "$read": lambda e, operand, names: e.read(operand, names),
    "$exists": _exists,
    "$eq": lambda e, operand, names: same(*_pair(e, operand, names)),
    "$ne": lambda e, operand, names: not same(*_pair(e, operand, names)),
    "$lt": _compare(lambda a, b: a < b),
    "$le": _compare(lambda a, b: a <= b),
    "$gt": _compare(lambda a, b: a > b),
    "$ge": _compare(lambda a, b: a >= b),
    "$in": _in,
    "$all": _all,
    "$any": _any,
    "$not": lambda e, operand, names: not e.holds(operand, names),
    "$if": _if,
    "$add": _arithmetic(lambda a, b: a + b),
    "$sub": _arithmetic(lambda a, b: a - b),
    "$mul": _arithmetic(lambda a, b: a * b),
    "$div": _divide,
    "$round": _round,
    "$sum": lambda e, operand, names: _arithmetic(lambda a, b: a + b)(e, operand, names) or 0,
    "$min": _extreme(min),
    "$max": _extreme(max),
    "$count": _count,
    "$each": _each,
    "$every": _every,
    "$some": _some,
    "$next_id": _next_id,
    "$pick": _pick,
    "$merge": _merge,
    "$get": _get,
    "$keys": _keys,
    "$text": _write,
    "$lower": _lower,
    "$days_between": _days_between,
    "$add_days": _add_days,
}
OPERATION_NAMES = tuple(sorted(_OPERATIONS))


# -- carrying out an effect --------------------------------------------------------------------------------------------


def refusal(effect: Effect, state: Mapping[str, Any], arguments: Mapping[str, Any], today: str) -> tuple[int, Any]:
    """Return (number of the first check that fails, what the agent is told), or (0, None)."""
    evaluator = Evaluator(state, today)
    return _refusal(evaluator, effect, _names(evaluator, effect, arguments))


def _refusal(evaluator: Evaluator, effect: Effect, names: Names) -> tuple[int, Any]:
    for number, check in enumerate(effect.checks, start=1):
        if not evaluator.holds(check.must, names):
            told = {"error": evaluator.filled(check.error, names)}
            return number, {**told, "code": check.code} if check.code else told
    return 0, None


def _names(evaluator: Evaluator, effect: Effect, arguments: Mapping[str, Any]) -> dict[str, Any]:
    names: dict[str, Any] = {**arguments, "args": dict(arguments)}
    for name, expression in effect.let.items():
        names[name] = evaluator.value(expression, names)
    return names


def perform(effect: Effect, state: dict[str, Any], arguments: Mapping[str, Any], today: str) -> Done:
    """Carry out an effect: names, checks, changes one after another, and what is returned, read from the new state.

    Raises `EffectFault` where the declaration itself is wrong.
    """
    evaluator = Evaluator(state, today)
    names = _names(evaluator, effect, arguments)
    number, told = _refusal(evaluator, effect, names)
    if number:
        return Done(told, state, (), number)
    patch: list[dict[str, Any]] = []
    for rule in effect.patch:
        if evaluator.holds(rule.when, names):
            operation = _operation(evaluator, rule, names)
            try:
                evaluator.state = apply(evaluator.state, [operation])
            except PatchFault as fault:
                raise EffectFault(f"the declared change of {rule.path} cannot be made: {fault}") from None
            patch.append(operation)
    return Done(evaluator.value(effect.returns, names), dict(evaluator.state), tuple(patch))


def _operation(evaluator: Evaluator, rule: PatchRule, names: Names) -> dict[str, Any]:
    path = evaluator.pointer(rule.path, names)
    if path is None:
        raise EffectFault(f"the path {rule.path} names a value that is null; check for it first.")
    operation: dict[str, Any] = {"op": rule.op, "path": "".join("/" + escape(part) for part in path)}
    if rule.op != "remove":
        operation["value"] = evaluator.value(rule.value, names)
    return operation
