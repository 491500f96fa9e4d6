"""The OpenAPI document is complete, and no call that it allows, or forbids, ends with a 500."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from orchestrator import commands
from orchestrator.web.app import ALL
from simulator.errors import UsageError
from tests.web.support import OPERATOR_KEY, Site, site

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
LIVE = "/live$"


@pytest.fixture(scope="module")
def played(worked_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that anything may be done to."""
    home = tmp_path_factory.mktemp("played") / "home"
    shutil.copytree(worked_home, home)
    with patch.object(commands, "new", _not_here), site(home) as one:
        yield one


def _not_here(*_: object) -> Path:
    """Chance would found offices of a thousand people."""
    raise UsageError("No office is made from a brief here.")


@pytest.fixture(scope="module")
def document(played: Site) -> Any:
    """The OpenAPI document."""
    return played.ask("/openapi.json")


def _operations(document: Any) -> list[tuple[str, str, Any]]:
    return [(m, path, op) for path, item in document["paths"].items() for m, op in item.items()]


def test_every_route_says_what_it_does_what_it_takes_and_what_it_gives(document: Any) -> None:
    operations = _operations(document)
    assert len(operations) >= 60
    assert len({op["operationId"] for _, _, op in operations}) == len(operations)
    for method, path, op in operations:
        assert op["summary"] and op["tags"] and path.startswith("/api/v1/")
        good = [code for code in op["responses"] if code.startswith("2")]
        assert len(good) == 1 and op["responses"][good[0]]["content"]
        assert {"401", "403", "404", "409", "415", "422", "503"} <= set(op["responses"])
        if method in ("post", "put") and not path.endswith("/keys"):
            assert op["requestBody"]["content"]["application/json"]["schema"]


def test_every_reference_leads_somewhere(document: Any) -> None:
    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    named = set(references(document))
    assert named and all(
        name.removeprefix("#/components/schemas/") in document["components"]["schemas"] for name in named
    )


def test_all_routes_are_in_the_document(document: Any) -> None:
    registered = {(m.lower(), r.path) for routes in ALL for r in routes.router.routes for m in r.methods}  # type: ignore[attr-defined]
    assert registered == {(method, path) for method, path, _ in _operations(document)}


def _known(case: Case[Any], names: dict[str, list[str]], number: int) -> None:
    """Put real names into half of the calls, so that they get past the first check."""
    for parameter, values in names.items():
        if parameter in (case.path_parameters or {}) and number % 4:
            case.path_parameters[parameter] = values[number // 4 % len(values)]


@pytest.mark.parametrize(
    ("key", "examples"),
    [
        ("operator", 2), ("person", 1), pytest.param("operator", 40, marks=pytest.mark.slow),
        pytest.param("person", 20, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_schemathesis_finds_no_500_and_no_answer_that_the_document_does_not_have(
    played: Site, document: Any, key: str, examples: int
) -> None:
    """Issue 5. The offices of this site are run, forked, frozen and acted in by chance."""
    office = played.house.row("Juniper")
    state = played.house.office(office)
    names = {
        "office": [office.id], "person": ["elena", "maya"], "file": sorted(state.files)[:5], "mail": sorted(state.mails)[:2],
        "room": sorted(state.rooms)[:3], "delegation": sorted(state.delegations)[:2], "number": ["1"],
        "activation": [a["id"] for a in played.ask(f"/offices/{office.id}/activations", limit=5)["items"]], "job": ["job-1"],
    }  # fmt: skip
    token = (
        OPERATOR_KEY
        if key == "operator"
        else played.tell("POST", f"/offices/{office.id}/people/elena/keys", status=201)["key"]
    )
    schema = schemathesis.openapi.from_dict(document).exclude(path_regex=LIVE)
    for number, result in enumerate(schema.get_all_operations()):
        operation = result.ok()  # type: ignore[union-attr]
        _try(operation, names, token, played, number, examples)


def _try(operation: Any, names: dict[str, list[str]], token: str, played: Site, seed: int, examples: int) -> None:
    count = iter(range(1_000_000))

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def attempt(case: Case[Any]) -> None:
        _known(case, names, seed + next(count))
        headers = {"Authorization": f"Bearer {token}"}
        case.call_and_validate(base_url=played.url, headers=headers, checks=CHECKS)

    given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE))(attempt)()
    with suppress(Unsatisfiable):  # what takes no parameter cannot be asked wrongly
        given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))(attempt)()
