"""The tests' stack, really brought up in containers (OFFICETOWN_TEST_DOCKER=1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.stack.report import examine
from tests.stack.ci_stack import CiStack, ci_stack
from tests.stack.playing import SERVICES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.skipif(
        not os.environ.get("OFFICETOWN_TEST_DOCKER"),
        reason="set OFFICETOWN_TEST_DOCKER=1 where a container engine runs",
    ),
]
REACH = """
import socket, sys
found = []
for place in sys.argv[1:]:
    host, _, port = place.partition(":")
    try:
        socket.create_connection((host, int(port)), 3).close()
        found.append(place)
    except OSError:
        pass
print(*found)
"""
ASK = """
import json, os, sys
from services.sandbox import engine
client = engine.connect(os.environ)
host = client.create_host_config(**json.loads(sys.argv[1]))
try:
    print(client.create_container("officetown/assistant:x", ["true"], user="1000:1000", host_config=host)["Id"])
except Exception as fault:
    print(fault)
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiStack]:
    with ci_stack(tmp_path_factory.mktemp("stack")) as up:
        yield up


def test_all_of_it_is_ready_and_the_doctor_says_so(stack: CiStack) -> None:
    parts = stack.stack.parts()
    assert {p.service for p in parts} == set(SERVICES) - {"mongodb"} and all(p.ready for p in parts)
    findings = examine(stack.stack)
    assert not [f for f in findings if f.fault] and "all 7 parts are ready" in findings[-1].text


def test_the_office_inside_has_its_database_and_its_sandboxes(stack: CiStack) -> None:
    said = stack.officetown("doctor").out
    assert "postgresql" in said and "Sandbox: docker works" in said
    assert stack.exec("id", "-u").out.strip() == "10001"
    assert stack.json("offices")["offices"] == []


def test_the_dashboard_and_the_api_answer_who_has_the_key(stack: CiStack) -> None:
    url, key = stack.url("orchestrator"), stack.variables["OFFICETOWN_TOKEN"]
    with httpx.Client(base_url=url, trust_env=False) as client:
        assert client.get("/api/v1/offices").status_code == 401
        listed = client.get("/api/v1/offices", headers={"Authorization": f"Bearer {key}"})
        assert listed.status_code == 200 and listed.json() == []
        page = client.get("/", follow_redirects=True)
        assert page.status_code == 401 and 'data-testid="sign-in"' in page.text and key not in page.text


def test_nobody_but_the_proxy_has_the_engine_s_socket(stack: CiStack) -> None:
    for service in ("orchestrator", "rocketchat", "mailpit", "baikal", "postgres"):
        assert stack.exec("ls", "/var/run/docker.sock", service=service).code != 0
    assert (
        "Permission denied" in stack.exec("ls", "/run/engine", service="mailpit").words
        or not stack.exec("ls", "/run/engine/docker.sock", service="mailpit").out
    )


@pytest.mark.parametrize(
    "host", ['{"privileged": true}', '{"binds": ["/:/host"]}', '{"network_mode": "host"}', '{"pid_mode": "host"}']
)
def test_the_office_cannot_ask_the_engine_for_a_way_out(stack: CiStack, host: str) -> None:
    assert "engine proxy: A sandbox" in stack.exec("python", "-c", ASK, host).out


def test_each_part_reaches_what_it_has_business_with(stack: CiStack) -> None:
    places = ["postgres:5432", "mailpit:1025", "rocketchat:3000", "baikal:5232"]
    assert stack.exec("python", "-c", REACH, *places).out.split() == places
    assert stack.exec("python", "-c", REACH, *places, service="mailpit").out.split() == places[1:]
    assert stack.exec("python", "-c", REACH, *places, service="engineproxy").out.split() == []


def test_the_stand_ins_can_be_asked_from_outside(stack: CiStack) -> None:
    assert stack.state("rocketchat")["users"][0]["username"] == "office"
    assert stack.state("mailpit")["messages"] == []


def test_a_part_that_is_away_is_named_and_missed_no_more_when_it_is_back(stack: CiStack) -> None:
    stack.stop("postgres")
    (fault,) = [f.text for f in examine(stack.stack) if f.fault and "postgres" in f.text]
    assert fault.startswith("postgres has stopped")
    done = stack.officetown("offices", code=4)
    assert "officetown: " in done.err
    stack.start("postgres")
    assert stack.json("offices")["offices"] == [], "what it keeps is still there"


def test_a_killed_orchestrator_is_started_again(stack: CiStack, tmp_path: Path) -> None:
    before = stack.container("orchestrator")
    stack.kill()
    stack.start("orchestrator")
    assert stack.container("orchestrator") == before
    assert stack.exec("true").code == 0
