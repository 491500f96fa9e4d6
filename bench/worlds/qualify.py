"""A gate before a simulator is used: diagnostic calls with known answers, a threshold, a written certificate.

The diagnostic environments declare what their tools do, so the known answers are carried out by code; the simulator under
test sees the same rules and state without these declarations. Four things are asked: does it remember what was changed,
does it follow the rules and no others, does it name every entity and no other, are its errors the same each time.
"""

from __future__ import annotations

import importlib.resources
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import yaml

from bench.worlds.effects import perform
from bench.worlds.folder import read_world
from bench.worlds.journal import write_json
from bench.worlds.model import Environment, Side, SimulatorMode
from bench.worlds.schemas import argument_faults
from bench.worlds.statistics import wilson
from bench.worlds.step import Past, Simulator, SimulatorFailed
from simulator.canonical import canonical, sha256
from simulator.errors import PackageError, UsageError

HARNESS = "1"
"""Raised when the same simulator could be certified otherwise for a reason of ours."""
THRESHOLD = 0.9
Dimension = Literal["state_retention", "rule_following", "entity_recall", "error_consistency"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
MissKind = Literal[
    "rule_invented", "rule_ignored", "entity_omitted", "entity_fabricated", "other_error", "other_value", "broke_off"
]
_MOST_SHOWN = 300


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a probe; scored if it `tests` something."""

    tool: str
    arguments: dict[str, Any]
    tests: Dimension | None = None


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls from the environment's initial state on. `text` says what is asked."""

    id: str
    text: str
    calls: tuple[Call, ...]


class Diagnostic(msgspec.Struct, frozen=True):
    """An environment with its probes."""

    environment: Environment
    probes: tuple[Probe, ...]


class Miss(msgspec.Struct, frozen=True):
    """A scored call that was answered wrongly. `number` counts the probe's calls from 1."""

    probe: str
    number: int
    tests: Dimension
    kind: MissKind
    known: str
    seen: str


class Mark(msgspec.Struct, frozen=True):
    """How a dimension went: right answers of scored calls, with Wilson's interval."""

    right: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / self.n


class Certificate(msgspec.Struct, frozen=True):
    """What a simulator was found to be. `probes` is the hash of all that was asked; `issued` an ISO date."""

    simulator: Side
    mode: SimulatorMode
    issued: str
    probes: str
    harness: str
    threshold: float
    repeats: int
    marks: dict[str, Mark]
    misses: tuple[Miss, ...]
    detections: dict[str, int]
    qualified: bool


class _Probes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    probes: tuple[Probe, ...]


def load_diagnostics(folder: Path | None = None) -> tuple[Diagnostic, ...]:
    """Return the shipped diagnostics, or those of a folder: in each of its folders an environment and `probes.yaml`.

    Raises:
        UsageError: a file is missing.
        PackageError: an environment or a probe does not hold together.
    """
    place = folder or Path(str(importlib.resources.files("fixtures").joinpath("worlds", "diagnostics")))
    if not place.is_dir():
        raise UsageError(f"{place} is no folder of diagnostics.")
    found = []
    for one in sorted(inner for inner in place.iterdir() if (inner / "probes.yaml").is_file()):
        environment = read_world(one).environment
        try:
            read = msgspec.convert(yaml.safe_load((one / "probes.yaml").read_text("utf-8")), _Probes)
        except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as fault:
            raise PackageError(f"{one.name}/probes.yaml cannot be read.", (str(fault),)) from fault
        faults = tuple(_probe_faults(environment, read.probes))
        if faults:
            raise PackageError(f"The probes of {one.name} do not hold together.", faults)
        found.append(Diagnostic(environment, read.probes))
    if not found:
        raise UsageError(f"{place} holds no diagnostics: a folder with `environment.yaml` and `probes.yaml` for each.")
    return tuple(found)


def _probe_faults(environment: Environment, probes: Sequence[Probe]) -> list[str]:
    faults = [] if environment.executable else [f"{environment.name} does not declare what all of its tools do."]
    twice = [name for name, count in Counter(probe.id for probe in probes).items() if count > 1]
    faults += [f"The probe `{name}` is there twice." for name in twice]
    for probe in probes:
        if not any(call.tests for call in probe.calls):
            faults.append(f"{probe.id}: no call is scored.")
        for number, call in enumerate(probe.calls, start=1):
            tool = environment.tool(call.tool)
            if tool is None:
                faults.append(f"{probe.id}, call {number}: there is no tool `{call.tool}`.")
                continue
            faults += [
                f"{probe.id}, call {number}: {text}" for text in argument_faults(call.arguments, tool.parameters)
            ]
    return faults


def bare(environment: Environment) -> Environment:
    """Return the environment as the simulator under test has it: without declared effects, which hold the answers."""
    tools = tuple(
        msgspec.structs.replace(tool, effect=None, creates=(), removes=(), depends_on=()) for tool in environment.tools
    )
    return msgspec.structs.replace(environment, tools=tools)


def known_answers(environment: Environment, calls: Sequence[Call]) -> list[Any]:
    """Return what each call must be answered, from the initial state on, by the declared effects."""
    state, answers = environment.initial_state, []
    for call in calls:
        tool = environment.tool(call.tool)
        assert tool is not None and tool.effect is not None
        done = perform(tool.effect, state, call.arguments, environment.today)
        state = done.state
        answers.append(done.observation)
    return answers


# -- comparing ----------------------------------------------------------------------------------------------------------


def difference(known: Any, seen: Any) -> MissKind | None:
    """Return how an answer differs from the known one, None if it does not.

    A refusal is compared by its code; the sentence is the simulator's own. Lists are compared in any order, 1 equals 1.0,
    and a field more with null in it is no difference.
    """
    refusal, refused = _code(known), _code(seen)
    if refusal is not None or refused is not None:
        if refusal is None:
            return "rule_invented"
        return "rule_ignored" if refused is None else None if refused == refusal else "other_error"
    return _value(known, seen)


def _code(value: Any) -> str | None:
    """Return the code of a refusal, '' if it has none, None if it is no refusal."""
    if not isinstance(value, dict) or not value.get("error"):
        return None
    return str(value.get("code", ""))


def _value(known: Any, seen: Any) -> MissKind | None:
    if isinstance(known, dict):
        if not isinstance(seen, dict) or any(name not in known and value is not None for name, value in seen.items()):
            return "other_value"
        return next((kind for name in known if (kind := _value(known[name], seen.get(name)))), None)
    if isinstance(known, list):
        return _list(known, seen) if isinstance(seen, list) else "other_value"
    plain = isinstance(known, bool) == isinstance(seen, bool) and not isinstance(seen, dict | list)
    return None if plain and known == seen else "other_value"


def _list(known: list[Any], seen: list[Any]) -> MissKind | None:
    left = list(seen)
    for item in known:
        at = next((at for at, other in enumerate(left) if _value(item, other) is None), None)
        if at is None:
            return "entity_omitted" if len(seen) < len(known) else "other_value"
        del left[at]
    return "entity_fabricated" if left else None


# -- asking -------------------------------------------------------------------------------------------------------------


def qualify(
    make: Callable[[Environment, str], Simulator],
    side: Side,
    mode: SimulatorMode,
    issued: str,
    diagnostics: Sequence[Diagnostic],
    threshold: float = THRESHOLD,
    repeats: int = 1,
    progress: Callable[[str], None] = lambda _sentence: None,
) -> Certificate:
    """Put every probe to a simulator `repeats` times; return its certificate.

    `make` is given an environment without effects and the name of a run, unique in this qualification. A simulator that
    cannot be brought to answer has all later calls of that probe wrong.

    Raises:
        UsageError: a threshold outside 0 to 1, no repeat, a dimension that no probe tests.
        ModelOutage, BudgetExhausted: nothing is certified; with a tape, the next try goes on where this one ended.
    """
    if not 0 < threshold <= 1 or repeats < 1:
        raise UsageError("A threshold is above 0 and at most 1, and there is at least one repeat.")
    tested = {call.tests for one in diagnostics for probe in one.probes for call in probe.calls}
    if missing := [name for name in DIMENSIONS if name not in tested]:
        raise UsageError(f"No probe tests {', '.join(missing)}: these diagnostics cannot certify a simulator.")
    right, asked, detected = Counter[str](), Counter[str](), Counter[str]()
    misses: list[Miss] = []
    for repeat in range(1, repeats + 1):
        for one in diagnostics:
            for probe in one.probes:
                name = f"qualify:{one.environment.name}:{probe.id}:{repeat}"
                found = _ask(make(bare(one.environment), name), one.environment, probe, detected)
                asked.update(call.tests for call in probe.calls if call.tests)
                right.update(call.tests for call in probe.calls if call.tests)
                right.subtract(miss.tests for miss in found)
                misses += found
                progress(f"{probe.id}: {len(found)} wrong" if found else f"{probe.id}: all right")
    marks: dict[str, Mark] = {name: _mark(right[name], asked[name]) for name in DIMENSIONS}
    qualified = all(mark.share >= threshold for mark in marks.values())
    return Certificate(
        side, mode, issued, probes_hash(diagnostics), HARNESS, threshold, repeats, marks, tuple(misses),
        dict(sorted(detected.items())), qualified,
    )  # fmt: skip


def _ask(simulator: Simulator, environment: Environment, probe: Probe, detected: Counter[str]) -> list[Miss]:
    state, past, misses = dict(environment.initial_state), list[Past](), list[Miss]()
    plain, broken = bare(environment), ""
    for number, (call, known) in enumerate(zip(probe.calls, known_answers(environment, probe.calls), strict=True), 1):
        seen: Any = None
        if not broken:
            tool = plain.tool(call.tool)
            assert tool is not None
            try:
                reply = simulator.answer(tool, call.arguments, state, tuple(past), environment.today)
            except SimulatorFailed as fault:
                broken = str(fault)
            else:
                state, seen = reply.state, reply.observation
                past.append(Past(call.tool, call.arguments, seen))
                detected.update(one.kind for one in reply.detections)
        if call.tests is None:
            continue
        kind: MissKind | None = "broke_off" if broken else difference(known, seen)
        if kind:
            misses.append(Miss(probe.id, number, call.tests, kind, _brief(known), broken[:_MOST_SHOWN] or _brief(seen)))
    return misses


def _mark(right: int, n: int) -> Mark:
    ends = wilson(right, n)
    return Mark(right, n, ends.low, ends.high)


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."


def probes_hash(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the hash of everything that is asked."""
    return sha256(canonical(diagnostics))[:32]


# -- certificates -------------------------------------------------------------------------------------------------------


def describe(certificate: Certificate) -> str:
    """Return a certificate for people, as Markdown."""
    side = certificate.simulator
    who = " ".join(part for part in (side.model or side.name, side.effort, f"({certificate.mode})") if part)
    lines = [
        f"# {'Qualified' if certificate.qualified else 'Not qualified'} as a simulator: {who}", "",
        f"Issued {certificate.issued}. Every dimension must reach {100 * certificate.threshold:.0f} %. "
        f"Probes {certificate.probes[:12]}, asked {certificate.repeats} time{'s' if certificate.repeats > 1 else ''}.", "",
        "| dimension | right | n | 95 % interval | |", "| --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, mark in certificate.marks.items():
        word = "reached" if mark.share >= certificate.threshold else "missed"
        ends = f"{100 * mark.low:.1f} to {100 * mark.high:.1f}"
        lines.append(f"| {name.replace('_', ' ')} | {100 * mark.share:.1f} % | {mark.n} | {ends} | {word} |")
    if certificate.misses:
        lines += ["", "## Wrong answers", ""]
        for miss in certificate.misses:
            lines.append(
                f"- `{miss.probe}`, call {miss.number} ({miss.tests.replace('_', ' ')}): {miss.kind.replace('_', ' ')}"
            )
            lines += [f"  - known: {_quoted(miss.known)}", f"  - answered: {_quoted(miss.seen)}"]
    if certificate.detections:
        told = ", ".join(f"{kind} {count}" for kind, count in certificate.detections.items())
        lines += ["", f"Caught on the way, repaired ones included: {told}."]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def certificate_name(side: Side, mode: SimulatorMode) -> str:
    """Return the name of a simulator's certificate: one for each side and mode."""
    return f"certificate-{sha256(canonical((side, mode)))[:16]}"


def write_certificate(folder: Path, certificate: Certificate) -> Path:
    """Write a certificate as JSON and as Markdown; return the JSON file. A newer one replaces it."""
    name = certificate_name(certificate.simulator, certificate.mode)
    write_json(folder / f"{name}.json", certificate)
    (folder / f"{name}.md").write_text(describe(certificate), "utf-8")
    return folder / f"{name}.json"


def require_qualified(
    folder: Path, side: Side, mode: SimulatorMode, diagnostics: Sequence[Diagnostic], threshold: float = THRESHOLD
) -> Certificate | None:
    """Return the certificate of a simulator that may be used; None for `offline`, which is code and needs none.

    Raises:
        UsageError: there is none, it is of other probes, or a dimension is below `threshold`.
    """
    if mode == "offline":
        return None
    who, place = side.model or side.name, folder / f"{certificate_name(side, mode)}.json"
    if not place.is_file():
        raise UsageError(f"{who} has no certificate as a simulator ({mode}): run `officetown worlds qualify` first.")
    try:
        found = msgspec.json.decode(place.read_bytes(), type=Certificate)
    except msgspec.MsgspecError as fault:
        raise UsageError(f"{place.name} is no certificate: run `officetown worlds qualify` again.") from fault
    if (found.probes, found.harness) != (probes_hash(diagnostics), HARNESS):
        raise UsageError(f"The certificate of {who} is of other probes: run `officetown worlds qualify` again.")
    low = {name: mark for name, mark in found.marks.items() if mark.share < threshold}
    if low:
        told = ", ".join(f"{name.replace('_', ' ')} {100 * mark.share:.1f} % of {mark.n}" for name, mark in low.items())
        raise UsageError(f"{who} does not qualify as a simulator at {100 * threshold:.0f} %: {told}. Use another one.")
    return found
