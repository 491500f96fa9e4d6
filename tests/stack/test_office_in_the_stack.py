"""A ten-day office in containers: its assistants in sandboxes of their own, and servers that hold exactly what its record says
(OFFICETOWN_TEST_DOCKER=1). Chat and mail are the tests' stand-ins, Radicale and PostgreSQL are real."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.accounts import password_of
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from services.sandbox import engine
from services.storage.archive import unpack
from simulator.office import Office
from tests.carriers.holdings import calendars_agree, chat_agrees, mail_agrees
from tests.orchestrator.support import JUNIPER
from tests.stack.ci_stack import CiStack, ci_stack

DAYS = 10
pytestmark = [
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.skipif(
        not os.environ.get("OFFICETOWN_TEST_DOCKER"),
        reason="set OFFICETOWN_TEST_DOCKER=1 where a container engine runs",
    ),
]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiStack]:
    with ci_stack(tmp_path_factory.mktemp("stack"), {"OFFICETOWN_POLL_SECONDS": "1"}) as up:
        yield up


def embedded(folder: Path) -> str:
    """Return the hash of the same run on this machine, without servers and without containers."""
    house = House(read_settings({"OFFICETOWN_HOME": str(folder)}))
    try:
        return str(run(house, Out(quiet=True), JUNIPER, RunOptions(days=DAYS, seed=1))["hash"])
    finally:
        house.close()


def record(stack: CiStack, office_id: str, folder: Path) -> Office:
    """Return the office's state, brought here as a pack."""
    stack.officetown("pack", office_id, "-o", "/tmp/office.pack")
    path = folder / "office.pack"
    path.write_bytes(base64.b64decode(stack.exec("base64", "-w0", "/tmp/office.pack").out))
    house = House(read_settings({"OFFICETOWN_HOME": str(folder / "home")}))
    try:
        unpack(path, house.offices, house.blobs)
        return house.office(house.row(office_id))
    finally:
        house.close()


def sandboxes() -> list[str]:
    """Return the ids of the sandboxes' containers, running or not."""
    client = engine.connect(os.environ)
    try:
        return [c["Id"] for c in client.containers(all=True, filters={"label": "officetown.sandbox"})]
    finally:
        client.close()


def test_ten_days_in_containers_are_those_of_a_laptop_and_the_servers_hold_them(stack: CiStack, tmp_path: Path) -> None:
    done = stack.json("run", "/app/fixtures/juniper", "--days", str(DAYS), "--seed", "1", "--sandbox", "docker")
    assert done["hash"] == embedded(tmp_path / "embedded"), "neither servers nor containers change the log"
    assert done["counts"]["delegations"] >= 5
    office_id = str(done["office"])
    office = record(stack, office_id, tmp_path)
    assert office.revision == done["revision"]
    chat_agrees(stack.state("rocketchat"), office, office_id)
    mail_agrees(stack.state("mailpit"), office, office_id)
    calendars_agree(stack.url("baikal"), office, office_id, password_of(stack.people))


def test_no_container_outlives_a_killed_orchestrator(stack: CiStack) -> None:
    """RELIABILITY: after `kill -9` the next start removes what was left."""
    stack.exec(
        "sh", "-c", "officetown run /app/fixtures/juniper --days 40 --seed 2 --name killed --sandbox docker --carriers none "
        ">/tmp/run.log 2>&1 & echo started",
    )  # fmt: skip
    left: list[str] = []
    for _ in range(600):
        left = sandboxes()
        if left:
            break
        stack.exec("sleep", "0.1")
    assert left, "a sandbox was at work"
    stack.kill()
    stack.start("orchestrator")
    stack.officetown("run", "killed", "--days", "1", "--sandbox", "docker", "--carriers", "none")
    assert not set(left) & set(sandboxes())
