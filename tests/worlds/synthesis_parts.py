"""A small scenario for synthesis, with a generator, a solver and tanks that a test can script."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.worlds.catalogue import Scenario
from bench.worlds.model import Side
from bench.worlds.runs import AgentUnderTest, Panel, Simulating
from bench.worlds.synthesis_measure import Effort, Sides
from services.models.scripted import Scripted, call, say
from simulator.conversation import ModelRequest, ModelResponse
from simulator.ports import Model

SCENARIO = Scenario("tank-farm", "Running a tank farm", "An agent closes the right valve.", "Resources", "Storage")
GENERATOR = Side("model", "maker")
SMALL = Effort(topics=4, levels=1, with_plan=2, without=4, repairs=1)
TOPICS = ("good", "unsolvable", "trivial", "invalid")


def text(value: Any) -> ModelResponse:
    return say(json.dumps(value))


def ground(count: int = 16, reference: str = "A valve is closed before its tank overflows. " * 60) -> dict[str, Any]:
    """Sub-topics that share no long word; the first four are the candidates of the tests."""
    names = [*TOPICS, *(f"other-{at}" for at in range(4, 16))][:count]
    topics = [
        {
            "id": name,
            "title": f"Topic {name}",
            "focus": " ".join(f"{name.replace('-', '')}{word}word" for word in "abcdef"),
        }
        for name in names
    ]
    return {"subtopics": topics, "reference": reference}


def effect_of_closing(refuse: bool) -> dict[str, Any]:
    must: Any = {"$eq": [1, 2]} if refuse else {"$exists": "/tanks/{tank}"}
    return {
        "checks": [{"must": must, "error": "The valve of {tank} does not move.", "code": "STUCK"}],
        "patch": [{"op": "replace", "path": "/tanks/{tank}/valve", "value": "closed"}],
        "returns": {"closed": "$tank"},
    }


def draft(mark: str, refuse: bool = False, parameters: Any = None, levels: int = 1) -> dict[str, Any]:
    """An environment of two tanks; at each level the fuller tank's valve is to be closed, and that alone."""
    tank = {"type": "object", "properties": {"tank": {"type": "string"}}, "required": ["tank"]}
    return {
        "rules": f"Two tanks ({mark}). A valve is open or closed.",
        "fields": {"tanks": "the tanks by id, each with its level in percent and its valve"},
        "initial_state": {"tanks": {"A": {"level": 40, "valve": "open"}, "B": {"level": 97, "valve": "open"}}},
        "collections": ["/tanks"],
        "tools": [
            {"name": "get_tank", "description": "Reads a tank.", "parameters": tank,
             "example_output": {"level": 1, "valve": "open"}, "effect": {"returns": {"$read": "/tanks/{tank}"}}},
            {"name": "close_valve", "description": "Closes a tank's valve.", "parameters": parameters or tank,
             "example_output": {"closed": "Z"}, "effect": effect_of_closing(refuse)},
        ],
        "tasks": [
            {"level": level, "instruction": f"[{mark}] level {level}: close the valve of the tank about to overflow.",
             "plan": f"Read both tanks, then close the valve of B, the fuller ({level}).",
             "criteria": [
                 {"id": "closed", "text": "The valve of B is closed.", "kind": "state",
                  "must": {"$eq": [{"$read": "/tanks/B/valve"}, "closed"]}, "evidence": ["close_valve"]},
                 {"id": "alone", "text": "The valve of A is open.", "kind": "state",
                  "must": {"$eq": [{"$read": "/tanks/A/valve"}, "open"]}},
             ]}
            for level in range(1, levels + 1)
        ],
    }  # fmt: skip


WHY = {"cause": "other", "explanation": "The runs say so.", "change": "Make it different."}


def generator(**answers: Any) -> Scripted:
    """A generator: `ground` and each topic answer with a list of drafts or responses; every diagnosis is the same."""
    rules: dict[Any, Any] = {
        f"synthesize:tank-farm:{name}": [_said(one) for one in said] for name, said in answers.items()
    }
    if "ground" not in answers:
        rules["synthesize:tank-farm:ground"] = [text(ground())]
    rules["*"] = text(WHY)
    return Scripted(rules)


def _said(one: Any) -> ModelResponse:
    return one if isinstance(one, ModelResponse) else text(one)


def four() -> Scripted:
    """The story: one good, one unsolvable, one trivial, one invalid, and nobody learns from a diagnosis."""
    nonsense = {"type": "object", "properties": {"tank": {"type": "nonsense"}}}
    return generator(
        good=[draft("good")],
        unsolvable=[draft("unsolvable", refuse=True)] * 2,
        trivial=[draft("trivial")] * 2,
        invalid=[draft("invalid", parameters=nonsense)] * 2,
    )


class Solver:
    """A scripted agent: `shares[mark, level]` of four runs without the plan pass; with the plan it always does right."""

    def __init__(self, shares: dict[tuple[str, int], int] | None = None) -> None:
        self.shares = {("good", 1): 2, ("trivial", 1): 4, ("unsolvable", 1): 4, **(shares or {})}
        self.model = Scripted({"*": self.answer})
        self._seen: dict[tuple[str, int, bool], list[str]] = defaultdict(list)

    def answer(self, request: ModelRequest) -> ModelResponse:
        said = request.messages[1].content
        if request.messages[-1].role == "tool":
            return say("Done.")
        mark, level = said[1 : said.index("]")], int(said.split("level ")[1][0])
        with_plan = "A way that works:" in said
        sessions = self._seen[mark, level, with_plan]
        if request.session not in sessions:
            sessions.append(request.session)
        number = sessions.index(request.session) % 4
        right = with_plan or number < self.shares.get((mark, level), 0)
        return call("close_valve", tank="B" if right else "A")


def sides(model: Model, mark: str = "solver") -> Sides:
    return Sides(AgentUnderTest(Side("model", mark), model), Simulating(Side("offline"), "offline"), Panel(votes=1))


def only(folder: Path) -> Path:
    """The one folder in a folder."""
    (found,) = [one for one in folder.iterdir() if one.is_dir()]
    return found
