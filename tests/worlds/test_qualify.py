"""The gate before a simulator is used: known answers, good and bad simulators, certificates."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.worlds.model import Detection, Environment, FaultPlan, Side, Tool
from bench.worlds.qualify import (
    DIMENSIONS,
    Certificate,
    Diagnostic,
    bare,
    certificate_name,
    describe,
    difference,
    known_answers,
    load_diagnostics,
    probes_hash,
    qualify,
    require_qualified,
    write_certificate,
)
from bench.worlds.step import Offline, Past, Reply, Simulator, SimulatorFailed, simulator_of
from services.models.scripted import Scripted, say
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import ModelOutage, PackageError, UsageError

DIAGNOSTICS = load_diagnostics()
FULL = {one.environment.name: one.environment for one in DIAGNOSTICS}
SIDE = Side("model", "m1", "high")
Change = Callable[[Tool, dict[str, Any], dict[str, Any], Reply, int], Reply]


class Bent:
    """A simulator that knows the right answer and then spoils it by `change`."""

    def __init__(self, environment: Environment, change: Change) -> None:
        self.mode = "stateful"
        self._right, self._change, self._count = Offline(FULL[environment.name]), change, 0
        self._tools = {tool.name: tool for tool in FULL[environment.name].tools}

    def answer(
        self, tool: Tool, arguments: dict[str, Any], state: dict[str, Any], past: tuple[Past, ...], today: str
    ) -> Reply:
        self._count += 1
        right = self._right.answer(self._tools[tool.name], arguments, state, past, today)
        return self._change(tool, arguments, state, copy.deepcopy(right), self._count)


def ask(change: Change, **more: Any) -> Certificate:
    def make(environment: Environment, _name: str) -> Simulator:
        return Bent(environment, change)  # type: ignore[return-value]

    return qualify(make, SIDE, "stateful", "2025-03-10", DIAGNOSTICS, **more)


def right(_tool: Tool, _arguments: dict[str, Any], _state: dict[str, Any], reply: Reply, _count: int) -> Reply:
    return reply


def says(reply: Reply, observation: Any) -> Reply:
    return msgspec.structs.replace(reply, observation=observation)


# -- the probes themselves ------------------------------------------------------------------------------------------------


def answers(probe: str) -> list[Any]:
    for one in DIAGNOSTICS:
        for each in one.probes:
            if each.id == probe:
                return known_answers(one.environment, each.calls)
    raise AssertionError(probe)


def test_every_dimension_is_asked_often_enough_to_mean_something() -> None:
    counts = {name: 0 for name in DIMENSIONS}
    for one in DIAGNOSTICS:
        for probe in one.probes:
            for call in probe.calls:
                if call.tests:
                    counts[call.tests] += 1
    assert min(counts.values()) >= 12, counts


def test_known_answers_by_hand_pallets() -> None:
    """20 + 5 = 25; + 20 would be 45 and is refused; + 8 = 33, just full; one more is too many."""
    found = answers("sums-are-kept")
    assert found[0] == {"truck": "T-440", "pallets": 25}
    assert (found[1]["code"], found[4]["code"]) == ("OVER_CAPACITY", "OVER_CAPACITY")
    assert found[2] == {"truck": "T-440", "pallets": 33}
    assert found[3] == {"id": "T-440", "carrier": "Marlow Haulage", "length": 11, "pallets": 33, "bay": "B2"}


def test_known_answers_by_hand_days() -> None:
    """2025-03-20 + 10 = 03-30, + 30 = 04-29, + 1 = 04-30."""
    found = answers("days-add-up")
    assert [one["due"] for one in (found[0], found[1], found[3])] == ["2025-03-30", "2025-04-29", "2025-04-30"]


def test_known_answers_by_hand_order_of_checks() -> None:
    assert [one.get("code") for one in answers("length-limits")] == ["TOO_LONG", None, "ALREADY_DOCKED", "BAY_TAKEN"]
    assert [one.get("code") for one in answers("late-and-no-fee")] == [None, None, None, "BLOCKED"]


def test_known_answers_by_hand_rosters() -> None:
    found = answers("rosters-are-whole")
    assert [len(one["staff"]) for one in (found[0], found[1], found[3], found[4])] == [9, 5, 3, 9]
    assert len(answers("kinds-are-whole")[0]["items"]) == 6
    assert answers("kinds-are-whole")[1] == {"items": []}


def test_known_answers_by_hand_errors() -> None:
    codes = [one.get("code") for one in answers("refusals-are-alike")]
    assert codes == ["NOT_DOCKED", "NOT_DOCKED", "ALREADY_DOCKED", None, "NOT_DOCKED", "UNKNOWN_TRUCK", "UNKNOWN_TRUCK"]
    codes = [one.get("code") for one in answers("errors-stay-errors")]
    assert codes == ["NOT_AVAILABLE", "UNKNOWN_ITEM", "NOT_AVAILABLE", "NOT_LENT", None, None, "UNKNOWN_ITEM"]


def test_the_simulator_under_test_does_not_get_the_answers() -> None:
    """Declared effects hold them; the rules, state and shapes stay."""
    for one in DIAGNOSTICS:
        stripped = bare(one.environment)
        assert all(tool.effect is None for tool in stripped.tools)
        assert (stripped.rules, stripped.initial_state) == (one.environment.rules, one.environment.initial_state)
        assert all(tool.example_output for tool in stripped.tools)


def test_examples_give_no_entity_of_the_state_away() -> None:
    for one in DIAGNOSTICS:
        ids = {key for group in one.environment.initial_state.values() for key in group}
        for tool in one.environment.tools:
            assert not any(f'"{key}"' in str(tool.example_output).replace("'", '"') for key in ids)


# -- simulators -----------------------------------------------------------------------------------------------------------


def test_a_right_simulator_qualifies_with_nothing_wrong() -> None:
    found = ask(right)
    assert found.qualified and found.misses == ()
    assert all(mark.right == mark.n for mark in found.marks.values())


def test_other_words_order_and_number_forms_are_right_too() -> None:
    def otherwise(_tool: Tool, _a: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        seen = reply.observation
        if "error" in seen:
            return says(reply, {**seen, "error": "Not possible, sorry."})
        mirrored = {name: value[::-1] if isinstance(value, list) else value for name, value in reversed(seen.items())}
        floats = {name: float(v) if type(v) is int else v for name, v in mirrored.items()}
        return says(reply, {**floats, "warning": None})

    assert ask(otherwise).qualified


def test_a_forgetful_simulator_fails_on_state_retention() -> None:
    def forgets(_t: Tool, _a: dict[str, Any], state: dict[str, Any], reply: Reply, _count: int) -> Reply:
        return msgspec.structs.replace(reply, state=state)

    found = ask(forgets)
    assert not found.qualified
    assert found.marks["state_retention"].share < 0.5
    assert found.marks["entity_recall"].share == 1.0


def test_a_lawless_simulator_fails_on_rule_following() -> None:
    def permits(tool: Tool, arguments: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        code = reply.observation.get("code")
        if code in ("OVER_CAPACITY", "TOO_LONG", "LIMIT_REACHED", "BLOCKED", "BAY_TAKEN"):
            return says(reply, {"docked": True, **arguments})
        return reply

    found = ask(permits)
    assert not found.qualified and found.marks["rule_following"].share < 0.8
    assert {miss.kind for miss in found.misses if miss.tests == "rule_following"} == {"rule_ignored"}


def test_an_invented_rule_is_told_apart() -> None:
    """The published case: a return window that nobody specified."""

    def invents(tool: Tool, _a: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        if tool.name == "give_back":
            return says(reply, {"error": "Returns are accepted within 30 days only.", "code": "TOO_LATE"})
        return reply

    kinds = {miss.kind for miss in ask(invents).misses if miss.probe == "late-and-no-fee" and miss.number in (1, 3)}
    assert kinds == {"rule_invented"}


def test_a_person_dropped_from_a_roster_is_an_omission() -> None:
    def drops(tool: Tool, _a: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        lists = {
            name: value[:-1] for name, value in reply.observation.items() if isinstance(value, list) and len(value) > 3
        }
        return says(reply, {**reply.observation, **lists})

    found = ask(drops)
    assert not found.qualified and found.marks["entity_recall"].share < 0.9
    assert {miss.kind for miss in found.misses} == {"entity_omitted"}


def test_a_truck_that_is_not_there_is_a_fabrication() -> None:
    def adds(tool: Tool, arguments: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        if reply.observation.get("code") == "UNKNOWN_TRUCK":
            return says(
                reply, {"id": arguments["truck"], "carrier": "Marlow Haulage", "length": 12, "pallets": 0, "bay": None}
            )
        if tool.name == "list_bays":
            more = [*reply.observation["bays"], {"id": "B7", "length": 14, "truck": None}]
            return says(reply, {"bays": more})
        return reply

    found = ask(adds)
    assert not found.qualified
    assert {"rule_ignored", "entity_fabricated"} == {miss.kind for miss in found.misses}


def test_errors_that_change_from_time_to_time_are_inconsistent() -> None:
    def wavers(_t: Tool, _a: dict[str, Any], _s: dict[str, Any], reply: Reply, count: int) -> Reply:
        if "error" in reply.observation and count % 2:
            return says(reply, {"error": "Something went wrong", "code": f"E{count}"})
        return reply

    found = ask(wavers)
    assert not found.qualified and found.marks["error_consistency"].share < 0.9
    assert {miss.kind for miss in found.misses} == {"other_error"}


def test_a_simulator_that_breaks_off_has_the_rest_of_its_probe_wrong() -> None:
    def breaks(tool: Tool, arguments: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        if arguments == {"kind": "scale"}:
            raise SimulatorFailed("the simulator's answer cannot be used: it is prose")
        return reply

    misses = [miss for miss in ask(breaks).misses if miss.probe == "kinds-are-whole"]
    assert [(miss.number, miss.kind) for miss in misses] == [(number, "broke_off") for number in (2, 3, 4, 5)]
    assert misses[0].seen.endswith("it is prose")


def test_an_outage_certifies_nothing() -> None:
    def fails(*_: Any) -> Reply:
        raise ModelOutage("the endpoint kept failing")

    with pytest.raises(ModelOutage):
        ask(fails)


def test_the_threshold_decides() -> None:
    """One of 14 or so answers on state wrong: 92.9 % passes 0.9 and not 0.95."""

    def once(tool: Tool, arguments: dict[str, Any], _s: dict[str, Any], reply: Reply, _count: int) -> Reply:
        return says(reply, {"truck": "T-440", "pallets": 26}) if arguments == {"truck": "T-440", "count": 5} else reply

    loose, strict = ask(once, threshold=0.9), ask(once, threshold=0.95)
    assert loose.marks == strict.marks
    assert (loose.qualified, strict.qualified) == (True, False)
    for wrong in ({"threshold": 0.0}, {"threshold": 1.1}, {"repeats": 0}):
        with pytest.raises(UsageError, match="threshold is above 0"):
            ask(right, **wrong)


def test_repeats_add_to_n_and_get_names_of_their_own() -> None:
    names: list[str] = []

    def make(environment: Environment, name: str) -> Simulator:
        names.append(name)
        return Bent(environment, right)  # type: ignore[return-value]

    once = ask(right)
    twice = qualify(make, SIDE, "stateful", "2025-03-10", DIAGNOSTICS, repeats=2)
    assert twice.marks["entity_recall"].n == 2 * once.marks["entity_recall"].n
    assert twice.marks["entity_recall"].low > once.marks["entity_recall"].low
    assert len(names) == len(set(names))


def test_what_was_caught_on_the_way_is_in_the_certificate() -> None:
    def caught(tool: Tool, _a: dict[str, Any], _s: dict[str, Any], reply: Reply, count: int) -> Reply:
        if tool.name == "list_bays":
            return msgspec.structs.replace(reply, detections=(Detection("undeclared_field", "t", True),))
        return reply

    assert ask(caught).detections == {"undeclared_field": 3}


def test_through_a_model_with_state_patches() -> None:
    """The whole way: a scripted model answers the stateful prompt as a perfect simulator would."""

    def answer(request: ModelRequest) -> ModelResponse:
        """Read the call and the state out of the prompt; asked to look again, stand by the answer."""
        lines = request.messages[1].content.split("\n")
        full = FULL[request.session.split(":")[1]]
        state = msgspec.json.decode(
            lines[lines.index(next(one for one in lines if one.startswith("The state now"))) + 1]
        )
        call = msgspec.json.decode(next(one for one in lines if one.startswith('{"') and '"arguments"' in one))
        tool = next(tool for tool in full.tools if tool.name == call["name"])
        done = Offline(full).answer(tool, call["arguments"], state, (), full.today)
        rule = "there are no others" if "error" in done.observation else None
        whole = {"observation": done.observation, "state_patch": list(done.patch), "rule": rule}
        return say(msgspec.json.encode(whole).decode())

    model = Scripted({"*": answer})
    found = qualify(
        lambda environment, name: simulator_of("stateful", environment, model, name, FaultPlan()),
        SIDE, "stateful", "2025-03-10", DIAGNOSTICS,
    )  # fmt: skip
    assert found.misses == ()
    assert found.qualified


def test_through_a_model_that_answers_prose() -> None:
    model = Scripted({"*": say("I would say the truck is docked.")})
    found = qualify(
        lambda environment, name: simulator_of("stateful", environment, model, name, FaultPlan()),
        SIDE, "stateful", "2025-03-10", DIAGNOSTICS,
    )  # fmt: skip
    assert not found.qualified
    assert {miss.kind for miss in found.misses} == {"broke_off"}


# -- comparing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "seen", "kind"),
    [
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": 1}, {"a": True}, "other_value"),
        ({"a": True}, {"a": 1}, "other_value"),
        ({"a": None}, {}, None),
        ({"a": 1}, {"a": 1, "b": None}, None),
        ({"a": 1}, {"a": 1, "b": 2}, "other_value"),
        ({"a": [1, 2]}, {"a": [2, 1]}, None),
        ({"a": [1, 2]}, {"a": [1]}, "entity_omitted"),
        ({"a": [1, 2]}, {"a": [1, 2, 2]}, "entity_fabricated"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "other_value"),
        ({"a": []}, {"a": None}, "other_value"),
        ({"a": 1}, "prose", "other_value"),
        ({"a": 1}, None, "other_value"),
        ({"error": "x", "code": "A"}, {"error": "y", "code": "A"}, None),
        ({"error": "x", "code": "A"}, {"error": "y", "code": "B"}, "other_error"),
        ({"error": "x", "code": "A"}, {"error": "y"}, "other_error"),
        ({"error": "x", "code": "A"}, {"a": 1}, "rule_ignored"),
        ({"a": 1}, {"error": "no", "code": "B"}, "rule_invented"),
        ({"a": 1}, {"a": 1, "error": None}, None),
    ],
)
def test_how_an_answer_differs(known: Any, seen: Any, kind: str | None) -> None:
    assert difference(known, seen) == kind


# -- certificates -------------------------------------------------------------------------------------------------------


def test_a_certificate_is_written_read_and_required(tmp_path: Path) -> None:
    made = ask(right)
    place = write_certificate(tmp_path, made)
    assert require_qualified(tmp_path, SIDE, "stateful", DIAGNOSTICS) == made
    text = place.with_suffix(".md").read_text()
    assert text.startswith("# Qualified as a simulator: m1 high (stateful)")
    assert "| entity recall | 100.0 % |" in text and "Issued 2025-03-10" in text


def test_a_failed_certificate_says_what_was_wrong_and_stops_its_use(tmp_path: Path) -> None:
    def forgets(_t: Tool, _a: dict[str, Any], state: dict[str, Any], reply: Reply, _count: int) -> Reply:
        return msgspec.structs.replace(reply, state=state)

    made = ask(forgets)
    write_certificate(tmp_path, made)
    text = describe(made)
    assert text.startswith("# Not qualified") and "known: `" in text and "answered: `" in text
    with pytest.raises(UsageError, match="does not qualify as a simulator at 90 %: state retention"):
        require_qualified(tmp_path, SIDE, "stateful", DIAGNOSTICS)


def test_no_certificate_another_mode_other_probes_or_a_broken_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no certificate"):
        require_qualified(tmp_path, SIDE, "stateful", DIAGNOSTICS)
    place = write_certificate(tmp_path, ask(right))
    with pytest.raises(UsageError, match="has no certificate"):
        require_qualified(tmp_path, SIDE, "stateless", DIAGNOSTICS)
    with pytest.raises(UsageError, match="of other probes"):
        require_qualified(tmp_path, SIDE, "stateful", DIAGNOSTICS[:1])
    place.write_text("{}")
    with pytest.raises(UsageError, match="is no certificate"):
        require_qualified(tmp_path, SIDE, "stateful", DIAGNOSTICS)


def test_code_needs_no_certificate(tmp_path: Path) -> None:
    assert require_qualified(tmp_path, Side("offline"), "offline", DIAGNOSTICS) is None


def test_a_certificate_is_of_one_side_and_mode() -> None:
    names = {
        certificate_name(SIDE, "stateful"), certificate_name(SIDE, "stateless"),
        certificate_name(Side("model", "m1", "low"), "stateful"), certificate_name(Side("model", "m1", "high", "other"), "stateful"),
    }  # fmt: skip
    assert len(names) == 4


# -- diagnostics of one's own ---------------------------------------------------------------------------------------------


def copied(tmp_path: Path, probes: str) -> Path:
    source = Path(__file__).parents[2] / "fixtures/worlds/diagnostics/lending-desk/environment.yaml"
    place = tmp_path / "desk"
    place.mkdir()
    (place / "environment.yaml").write_bytes(source.read_bytes())
    (place / "probes.yaml").write_text(probes)
    return tmp_path


@pytest.mark.parametrize(
    ("probes", "fault"),
    [
        (
            "probes: [{id: a, text: t, calls: [{tool: none, arguments: {}, tests: entity_recall}]}]",
            "there is no tool `none`",
        ),
        (
            "probes: [{id: a, text: t, calls: [{tool: find_items, arguments: {}, tests: entity_recall}]}]",
            "kind missing",
        ),
        ("probes: [{id: a, text: t, calls: [{tool: find_items, arguments: {kind: x}}]}]", "no call is scored"),
        (
            "probes: [{id: a, text: t, calls: [{tool: find_items, arguments: {kind: x}, tests: luck}]}]",
            "cannot be read",
        ),
        ("[", "cannot be read"),
    ],
)
def test_faulty_probes_are_refused(tmp_path: Path, probes: str, fault: str) -> None:
    with pytest.raises(PackageError, match=fault):
        load_diagnostics(copied(tmp_path, probes))


def test_diagnostics_that_leave_a_dimension_out_certify_nobody(tmp_path: Path) -> None:
    text = "probes: [{id: a, text: t, calls: [{tool: find_items, arguments: {kind: x}, tests: entity_recall}]}]"
    own: tuple[Diagnostic, ...] = load_diagnostics(copied(tmp_path, text))
    assert probes_hash(own) != probes_hash(DIAGNOSTICS)
    with pytest.raises(UsageError, match="No probe tests state_retention"):
        qualify(lambda e, _n: Bent(e, right), SIDE, "stateful", "d", own)  # type: ignore[arg-type,return-value]


def test_an_empty_folder_has_no_diagnostics(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no diagnostics"):
        load_diagnostics(tmp_path)
    with pytest.raises(UsageError, match="no folder"):
        load_diagnostics(tmp_path / "none")


def test_through_a_model_that_keeps_the_state_in_its_head() -> None:
    """The original harness's way: no state is given, so the model must have it from the conversation."""

    def answer(request: ModelRequest) -> ModelResponse:
        full = FULL[request.session.split(":")[1]]
        state, said = full.initial_state, ""
        for message in request.messages:
            if message.role == "user":
                call = msgspec.json.decode(message.content.split("\n")[0])
                tool = next(tool for tool in full.tools if tool.name == call["name"])
                done = Offline(full).answer(tool, call["arguments"], state, (), full.today)
                state, said = done.state, msgspec.json.encode(done.observation).decode()
        return say(f"<observation>{said}</observation>")

    def forgetful(request: ModelRequest) -> ModelResponse:
        return answer(msgspec.structs.replace(request, messages=request.messages[-1:]))

    for reply, passes in ((answer, True), (forgetful, False)):
        model = Scripted({"*": reply})
        found = qualify(
            lambda environment, name, model=model: simulator_of("stateless", environment, model, name, FaultPlan()),  # type: ignore[misc]
            SIDE, "stateless", "2025-03-10", DIAGNOSTICS,
        )  # fmt: skip
        assert found.qualified == passes
        assert (found.marks["state_retention"].share >= 0.9) == passes
