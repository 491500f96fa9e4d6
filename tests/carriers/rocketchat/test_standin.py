"""The stand-in is not just our own reading: published schemas and a program by others hold it too."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from services.carriers.rocketchat.chat import RocketChat
from services.carriers.rocketchat.posting import CUSTOM_FIELDS
from simulator.carrying import Chat
from tests.carriers.rocketchat.schemas import ANSWERS, REQUESTS, check, faults_of, folder, published
from tests.carriers.rocketchat.world import World, arrived
from tests.carriers.standins.faults import Exchange, Request, Response
from tests.carriers.standins.rocketchat import from_environment

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".clients" / "bin" / "python"
SCRIPT = Path(__file__).with_name("independent.py")
shared = pytest.mark.skipif(folder() is None, reason="the published schemas are not beside the checkout")


def test_the_carrier_is_a_chat(world: World) -> None:
    chat: Chat = world.chat
    assert isinstance(chat, RocketChat)
    assert chat.name == "rocketchat"


@pytest.fixture
def python() -> Path:
    if not PYTHON.exists():
        if os.environ.get("OFFICETOWN_TEST_CLIENTS"):
            pytest.fail("the independent clients are missing: run `make clients`", pytrace=False)
        pytest.skip("the independent clients are not installed: run `make clients`")
    return PYTHON


def test_an_independent_program_finds_what_the_office_says_and_the_office_hears_it(
    world: World, python: Path, tmp_path: Path
) -> None:
    world.set_up()
    world.posts("elena.1.1", files=(world.file("a.txt", b"a"),))
    arguments = [str(python), str(SCRIPT), world.server.url, "priya", "secret of priya", str(tmp_path)]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = json.loads(ran.stdout)
    assert seen["version"] == "8.8.1"
    assert seen["channels"] == ["front-desk", "general"]
    assert seen["users"] == ["daniel", "elena", "maya", "office", "priya"]
    assert seen["history"] == [
        ["priya", "see the notes"], ["priya", "an answer"], ["priya", "from elsewhere, edited"],
        ["elena", ""], ["elena", "text of elena.1.1"],
    ]  # fmt: skip
    assert seen["synced"] is True
    assert seen["reactions"] == {":tada:": {"usernames": ["priya"]}}
    came = arrived(world.chat.poll(""))
    assert sorted((a.change, a.text, len(a.files)) for a in came) == [
        ("", "an answer", 0), ("", "from elsewhere, edited", 0), ("", "see the notes", 1),
        ("edited", "from elsewhere, edited", 0), ("reacted", ":tada:", 0),
    ]  # fmt: skip
    assert next(a for a in came if a.files).files[0].data == b"brought by another program"


@shared
@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("chat.sendMessage", {"message": {"rid": 5}}),
        ("chat.sendMessage", {"message": {"rid": "a"}, "ts": "2026-01-05"}),
        ("chat.react", {"messageId": "", "emoji": "x"}),
        ("chat.react", {"messageId": "a", "emoji": "x", "reaction": "x"}),
        ("users.create", {"username": "a", "name": "a", "password": "a"}),
        ("im.create", {"username": "a", "usernames": "a,b"}),
        ("groups.create", {"name": "a", "extraData": {"topic": "a", "secret": 1}}),
    ],
)
def test_a_request_that_goes_against_the_published_schema_is_found(call: str, body: Any) -> None:
    request = Request("POST", f"/api/v1/{call}", {}, {}, json.dumps(body).encode())
    assert faults_of(Exchange(request, Response(400, {"success": False, "error": "no"})))


@shared
@pytest.mark.parametrize("missing", ["rid", "u", "_updatedAt"])
def test_an_answer_that_goes_against_the_published_schema_is_found(world: World, missing: str) -> None:
    world.set_up()
    world.posts("elena.1.1")
    _, core = published()
    message = dict(world.said()[0])
    assert check(message, core["IMessage"], core) == []
    assert check({**message, "ts": "yesterday"}, core["IMessage"], core)
    del message[missing]
    assert check(message, core["IMessage"], core)


@shared
def test_every_call_of_the_carrier_is_known_to_the_published_schemas(world: World) -> None:
    """Those without a schema there are named here, so that a new call does not go unchecked unseen."""
    requests, core = published()
    assert set(REQUESTS.values()) <= set(requests)
    assert {schema for entries in ANSWERS.values() for _, schema in entries} <= set(core)
    unchecked = {"login", "channels.invite", "channels.members", "rooms.media", "rooms.mediaConfirm"}
    world.set_up()
    world.posts("elena.1.1", files=(world.file("a.txt", b"a"),))
    world.joins("priya", joined=False)
    world.joins("priya")
    world.chat.poll("")
    called = {e.request.path.removeprefix("/api/v1/").split("/")[0] for e in world.server.exchanges}
    assert called - set(REQUESTS) <= unchecked


def test_a_stranger_without_a_token_gets_nothing(world: World) -> None:
    world.set_up()
    world.server.unchecked = True
    for method, path in (
        ("GET", "/api/v1/rooms.adminRooms"),
        ("POST", "/api/v1/chat.sendMessage"),
        ("GET", "/api/v1/me"),
    ):
        response, _ = world.server.exchange(
            Request(method, path, {}, {"x-auth-token": "guess", "x-user-id": "x"}, b"{}")
        )
        assert response.status == 401


def test_its_state_can_be_looked_at_and_faults_asked_for(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1")
    planned = json.dumps([{"kind": "status", "status": 503, "match": "me"}]).encode()
    world.server.exchange(Request("POST", "/__faults", {}, {}, planned))
    response, _ = world.server.exchange(Request("GET", "/api/v1/me", {}, {}, b""))
    assert response.status == 503
    state = json.loads(world.server.exchange(Request("GET", "/__state", {}, {}, b""))[0].data())
    assert [m["msg"] for m in state["messages"]] == ["text of elena.1.1"]
    assert "secret of elena" not in json.dumps(state)


def test_it_is_set_up_by_the_variables_of_the_real_image() -> None:
    bare = from_environment({})
    assert bare.settings["Message_CustomFields_Enabled"] is False
    schema = json.dumps(CUSTOM_FIELDS)
    standin = from_environment(
        {
            "ADMIN_USERNAME": "juniper",
            "ADMIN_PASS": "of juniper",
            "OVERWRITE_SETTING_Message_CustomFields_Enabled": "true",
            "OVERWRITE_SETTING_Message_CustomFields": schema,
            "OVERWRITE_SETTING_Message_MaxAllowedSize": "6000",
            "OVERWRITE_SETTING_Unheard_Of": "true",
        }
    )
    assert standin.passwords == {"juniper": "of juniper"}
    assert (standin.settings["Message_CustomFields"], standin.settings["Message_MaxAllowedSize"]) == (schema, 6000)
    standin._check_fields({"office": "juniper", "event": "a", "part": "2", "sim_ts": "2026-01-05T08:00:00+00:00"})
