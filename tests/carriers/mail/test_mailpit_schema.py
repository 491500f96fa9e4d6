"""The stand-in for Mailpit, and what is asked of it, held to the API's published OpenAPI file.

The file lies beside the checkout, or where OFFICETOWN_SHARED says; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.carriers.mailpit.carrier import MailpitMail
from services.carriers.mailpit.checks import live_check, ready_check
from services.carriers.mailpit.smtp import SmtpServer
from tests.carriers.mail.cast import AT, PEOPLE, Memory, attached, letter, mail
from tests.carriers.standins.faults import Exchange
from tests.carriers.standins.mailpit import Mailpit

SHARED = Path(os.environ.get("OFFICETOWN_SHARED") or Path(__file__).parents[4] / "shared")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
}  # fmt: skip


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    file = SHARED / "mailpit-swagger.json"
    if not file.is_file():
        pytest.skip("Mailpit's published API is not beside the checkout")
    loaded: dict[str, Any] = json.loads(file.read_bytes())
    return loaded


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    """Everything that is asked of a Mailpit, in one life of a carrier."""
    with Mailpit() as server:
        blobs = Memory()
        mails = MailpitMail(SmtpServer("127.0.0.1", server.smtp_port), server.url, httpx.Client(), PEOPLE, blobs)
        mails.send("k", mail(cc=("maya",), files=(attached(blobs, "a.pdf", b"x"),)), "Hello", True)
        server.store("daniel@juniper.example", ["elena@juniper.example"], letter(X_Tags="urgent"))
        mails.poll(mails.poll("").cursor)
        assert all(ok for _, ok, _ in (*ready_check(mails), *live_check(mails, AT, "t")))
        name = next(iter(server.messages))
        for path in ("/api/v1/messages", f"/api/v1/message/{name}", "/api/v1/message/nobody", "/api/v1/search"):
            httpx.get(server.url + path)
        mails.close()
        return list(server.exchanges)


def faults(value: Any, schema: dict[str, Any], published: dict[str, Any], where: str = "$") -> list[str]:
    """Return where a value is not what a schema of OpenAPI 2.0 says; a property that it does not name is a fault."""
    while "$ref" in schema:
        part = published
        for name in schema["$ref"].removeprefix("#/").split("/"):
            part = part[name]
        schema = part.get("schema", part)
    kind = schema.get("type", "object")
    if not _is_a(value, kind):
        return [f"{where} is no {kind}: {value!r:.80}"]
    found: list[str] = [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    if kind == "object":
        for name, inner in value.items():
            known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            found += faults(inner, known, published, f"{where}.{name}") if known else [f"{where}.{name} is unknown"]
    elif kind == "array":
        for number, inner in enumerate(value):
            found += faults(inner, schema["items"], published, f"{where}[{number}]")
    elif schema.get("format") == "date-time" and not re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", value
    ):
        found.append(f"{where} is no time: {value}")
    return found


def _is_a(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def operation(exchange: Exchange, published: dict[str, Any]) -> dict[str, Any]:
    """Return the published operation that a request is."""
    for path, operations in published["paths"].items():
        shape = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path))
        if re.fullmatch(shape, exchange.request.path) and exchange.request.method.lower() in operations:
            found: dict[str, Any] = operations[exchange.request.method.lower()]
            return found
    raise AssertionError(f"{exchange.request.method} {exchange.request.path} is not published")


def test_every_request_is_one_that_is_published(exchanges: list[Exchange], published: dict[str, Any]) -> None:
    seen = set()
    for exchange in exchanges:
        known = operation(exchange, published)
        parameters = {p["name"]: p for p in known.get("parameters", []) if p["in"] == "query"}
        assert set(exchange.request.query) <= set(parameters)
        body = next((p["schema"] for p in known.get("parameters", []) if p["in"] == "body"), None)
        if exchange.request.body:
            assert body is not None and faults(exchange.request.json(), body, published) == []
        seen.add(known["operationId"])
    assert {"SearchParams", "SetTagsParams", "DownloadRawParams", "AppInformation"} <= seen


def test_every_answer_is_what_is_published(exchanges: list[Exchange], published: dict[str, Any]) -> None:
    statuses = set()
    for exchange in exchanges:
        known = operation(exchange, published)["responses"][str(exchange.response.status)]
        schema = faults_schema(known, published)
        said = exchange.response.data()
        if schema.get("type") == "string":
            assert said
        else:
            assert faults(json.loads(said), schema, published) == []
        statuses.add(exchange.response.status)
    assert statuses == {200, 400, 404}


def faults_schema(known: dict[str, Any], published: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a published answer, whether it is named as a response or as a definition."""
    part: dict[str, Any] = known
    while "$ref" in part or "schema" in part:
        if "schema" in part and "$ref" not in part:
            part = part["schema"]
            continue
        found: Any = published
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def test_the_validator_sees_what_is_wrong(published: dict[str, Any]) -> None:
    listed = {"$ref": "#/definitions/MessagesSummary"}
    assert faults({"total": "7"}, listed, published) == ["$.total is no integer: '7'"]
    assert faults({"messages": [{"ID": 7}]}, listed, published) == ["$.messages[0].ID is no string: 7"]
    assert faults({"messages": [{"Id": "x"}]}, listed, published) == ["$.messages[0].Id is unknown"]
    assert faults({"messages": [{"Created": "now"}]}, listed, published) == ["$.messages[0].Created is no time: now"]
