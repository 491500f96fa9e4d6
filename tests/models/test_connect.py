"""Putting the parts together: a model per role, an endpoint made a model, and finding out what it can do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.models.by_role import ByRole
from services.models.classify import Fault
from services.models.connect import Abilities, Surroundings, connect, probe, wire_of
from services.models.endpoint import Endpoint, Prices
from services.models.http_server import serve
from services.models.ledger import Budget, Ledger
from services.models.scripted import Scripted, call, say
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import UsageError
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer
from tests.models.stories import NOW, Clock, ask


def around(clock: Clock | None = None) -> Surroundings:
    clock = clock or Clock()
    return Surroundings(lambda: NOW, clock.monotonic, clock.sleep, lambda: 0.5)


def test_each_role_has_its_model() -> None:
    model = ByRole({"principal": Scripted({"*": say("a person")}), "judge": Scripted({"*": say("met")})})
    assert model.complete(ask()).content == "a person"
    judge = ModelRequest("judge", ("j", 0), "j", ask().messages)
    assert model.complete(judge).content == "met"
    world = ModelRequest("world", ("w", 0), "w", ask().messages)
    with pytest.raises(UsageError, match="no model is set for the role 'world'"):
        model.complete(world)
    assert ByRole({}, Scripted([say("anyone")])).complete(world).content == "anyone"


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_endpoint_becomes_a_model_with_a_ledger(wire: Any) -> None:
    plays = iter(
        [cases.LIMITED_ONCE, Case("", cases.chat({"content": "hi"}), "", responses=cases.resp(cases.text("hi")))]
    )
    clock, ledger, budget = Clock(), Ledger(), Budget(10**9)
    with FaultServer(lambda _wire, _body: next(plays)) as server:
        link = wire_of(Endpoint(server.url, "m", wire=wire, prices=Prices(10**6, 10**6)), around(clock))
        model = connect(link, around(clock), ledger=ledger, budget=budget)
        assert model.complete(ask()).content == "hi"
        link.close()
    assert clock.slept == [7.25]
    assert budget.spent == 25
    assert [(entry.attempts, entry.cost_micros) for entry in ledger.entries()] == [(2, 25)]


class Obliging:
    """A model that does whatever `probe` asks."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        if request.tools:
            return call("echo", word="ready")
        return say('{"ready": true}' if request.schema else "ready", reasoning="hm")


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_probe_finds_what_our_own_server_can_do(wire: Any) -> None:
    with serve(Obliging()) as server:
        link = wire_of(Endpoint(server.url, "officetown", wire=wire), around())
        assert probe(link) == Abilities(True, "native", "json_schema", True, False, "scripted")
        link.close()


def test_probe_finds_a_small_local_server() -> None:
    """No tools, no json_schema, a connection that breaks once: each is found out, and none is an error."""
    broken = [cases.BROKEN[0]]

    def play(_wire: str, body: dict[str, Any]) -> Case:
        if broken:
            return broken.pop()
        if "tools" in body:
            return Case("", cases.error("this model does not support tools"), "", status=400)
        if body.get("response_format", {}).get("type") == "json_schema":
            return Case("", cases.error("response_format json_schema is not supported"), "", status=400)
        told = json.dumps(body["messages"])
        if "echo" in told:
            return Case("", cases.chat({"content": '{"tool": "echo", "arguments": {"word": "ready"}}'}), "")
        return Case("", cases.chat({"content": '{"ready": true}'}), "")

    with FaultServer(play) as server:
        link = wire_of(Endpoint(server.url, "m"), around())
        assert probe(link) == Abilities(True, "schema", "json_object", False, True, "m")
        link.close()


def test_probe_says_what_stands_in_the_way() -> None:
    wrong_key = Case("", cases.error("Incorrect API key provided", "invalid_api_key"), "", status=401)
    with FaultServer(lambda _wire, _body: wrong_key) as server:
        link = wire_of(Endpoint(server.url, "m"), around())
        found = probe(link)
        link.close()
    assert isinstance(found.fault, Fault)
    assert found.fault.reason == "the model endpoint did not accept the key"
    assert found == Abilities(fault=found.fault)


def test_a_model_that_can_neither_call_nor_shape_is_said_to() -> None:
    with serve(Scripted({"*": say("bananas")})) as server:
        link = wire_of(Endpoint(server.url, "m"), around())
        assert probe(link) == Abilities(True, "none", "none", False, False, "scripted")
        link.close()
