"""What `officetown doctor` says of a chat server, and what it does there and takes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from services.carriers.rocketchat.people import Credentials
from services.carriers.rocketchat.probe import Finding, Probe
from tests.carriers.rocketchat.world import Clock
from tests.carriers.standins.faults import Fault
from tests.carriers.standins.rocketchat import RocketChatStandIn


@pytest.fixture
def probe(server: RocketChatStandIn) -> Iterator[Probe]:
    clock = Clock()
    with httpx.Client() as http:
        yield Probe(server.url, Credentials("office", "office-password"), http, clock, clock.sleep, "Run-7")


def failed(findings: Iterator[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.ok]


def test_a_server_that_is_ready(probe: Probe) -> None:
    findings = list(probe.ready_check())
    assert [f.line for f in findings if f.ok] == [
        "chat server answers", "its version is 7 or newer", "the office's account logs in", "it may see all rooms",
        "messages may carry simulated time", "messages may be long enough", "calls are not held up",
    ]  # fmt: skip
    assert len(findings) == 7


def test_a_server_that_is_not_there(server: RocketChatStandIn, probe: Probe) -> None:
    server.stop()
    (finding,) = probe.ready_check()
    assert not finding.ok
    assert "cannot be reached" in finding.detail
    assert "replica set is not initiated" in finding.detail


@pytest.mark.parametrize(
    ("version", "word"), [("6.13.0", "take an image of version 8"), ("nightly", "names no version")]
)
def test_a_server_of_another_version(server: RocketChatStandIn, probe: Probe, version: str, word: str) -> None:
    server.version = version
    (finding,) = failed(probe.ready_check())
    assert word in finding.detail


def test_an_account_that_is_no_administrator(server: RocketChatStandIn, probe: Probe) -> None:
    server._user("office")["roles"] = ["user"]
    assert [f.line for f in failed(probe.ready_check())][0] == "it may see all rooms"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("Message_CustomFields_Enabled", False),
        ("Message_CustomFields", '{"properties": {}}'),
        ("Message_MaxAllowedSize", 100),
    ],
)
def test_a_setting_that_is_missing_is_named(server: RocketChatStandIn, probe: Probe, setting: str, value: Any) -> None:
    server.settings[setting] = value
    (finding,) = failed(probe.ready_check())
    assert setting in finding.detail


def test_the_live_check_does_everything_and_leaves_nothing(server: RocketChatStandIn, probe: Probe) -> None:
    before = server.state()
    findings = list(probe.live_check())
    assert [f.line for f in findings] == [
        "make a private room", "post a message under an id of ours", "post it again: there is still one",
        "read it back with its custom fields", "upload a file and read it back", "react", "delete a message",
        "delete the room",
    ]  # fmt: skip
    assert failed(iter(findings)) == []
    after = server.state()
    assert after["rooms"] == before["rooms"]
    assert after["messages"] == []


@pytest.mark.parametrize(
    "call", ["chat.sendMessage", "rooms.mediaConfirm", "chat.react", "chat.delete", "/file-upload/"]
)
def test_the_live_check_names_what_fails_and_still_deletes_its_room(
    server: RocketChatStandIn, probe: Probe, call: str
) -> None:
    server.faults.plan(Fault("status", 1, call))
    assert len(failed(probe.live_check())) >= 1
    assert [room["name"] for room in server.rooms.values()] == ["general"]


def test_the_live_check_of_a_restricted_workspace_says_what_to_do(server: RocketChatStandIn, probe: Probe) -> None:
    server.restricted = True
    details = [finding.detail for finding in failed(probe.live_check())]
    assert any("outbound internet access" in detail for detail in details)


def test_a_server_that_forgets_custom_fields_of_files_is_found_out(server: RocketChatStandIn, probe: Probe) -> None:
    put = server._put

    def forgetful(wanted: Any, who: Any) -> Any:
        message = put(wanted, who)
        if message is not None and "files" in message:
            del message["customFields"]
        return message

    server._put = forgetful  # type: ignore[method-assign]
    (finding,) = failed(probe.live_check())
    assert "files would come back" in finding.detail
