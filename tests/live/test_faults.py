"""Whole offices on a provider that fails: what is waited out leaves no trace, what is lost is named, an outage stops.

Real HTTP, the real client, the real engine. OFFICETOWN_TEST_SEED chooses the faults.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from services.packages.folder import read_package
from simulator.conversation import ModelRequest
from simulator.events import ActivationLanded, decode
from tests.live.house import Clock, Live, environ_for
from tests.live.provider import KINDS, Faults, Provider, provide
from tests.orchestrator.support import JUNIPER, Desk

SEED = int(os.environ.get("OFFICETOWN_TEST_SEED", "0")) or random.SystemRandom().randrange(10**6)
DAYS = pytest.mark.parametrize(
    "days", [pytest.param(3, id="3 days"), pytest.param(20, id="20 days", marks=pytest.mark.slow)]
)
pytestmark = pytest.mark.timeout(600)


class Office:
    """Commands in a home of their own, over a served provider."""

    def __init__(
        self, home: Path, capture: pytest.CaptureFixture[str], provider: Provider, faults: Faults, **more: str
    ) -> None:
        self.provider = provider
        self.faults = faults
        self.clock = Clock()
        self.served = provide(provider, faults)
        self.desk = Desk(home, capture, environ_for(home, self.served.url, **more))

    def __call__(self, *arguments: str) -> Any:
        return self.desk(*arguments, make=self.house)

    def json(self, *arguments: str) -> dict[str, Any]:
        """Run a command that must succeed."""
        return self.desk.json(*arguments, make=self.house)

    def house(self) -> Live:
        """Return a house whose waits pass at once."""
        return Live(self.desk.environ, self.clock)

    def log(self, office: str) -> list[bytes]:
        """Return the stored events."""
        house = self.house()
        try:
            return [data for _, data in house.offices.read(house.row(office).id).events()]
        finally:
            house.close()


@pytest.fixture
def open_office(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Makes offices, and closes what serves them."""
    made: list[Office] = []

    def make(provider: Provider | None = None, faults: Faults | None = None, **more: str) -> Office:
        home = tmp_path / f"home{len(made)}"
        made.append(Office(home, capsys, provider or Provider(), faults or Faults(SEED, 0), **more))
        return made[-1]

    yield make
    for office in made:
        office.served.close()


Opener = Callable[..., Office]


@pytest.mark.parametrize(
    ("package", "days", "wire"),
    [
        pytest.param("", 3, "chat", id="3 days, chat"),
        pytest.param("", 3, "responses", id="3 days, responses"),
        pytest.param("", 20, "responses", id="20 days, responses", marks=pytest.mark.slow),
        pytest.param(JUNIPER, 20, "chat", id="20 days of twelve people, chat", marks=pytest.mark.slow),
    ],
)
def test_an_office_on_a_failing_provider_is_the_office_on_a_sound_one(
    open_office: Opener, firm: str, package: str, days: int, wire: str
) -> None:
    """RULES 1 and 3: one request in ten meets a fault of a random kind, and nothing of it is in the log."""
    sound = open_office(OFFICETOWN_MODEL_WIRE=wire)
    failing = open_office(faults=Faults(SEED, 100), OFFICETOWN_MODEL_WIRE=wire)
    whole = sound.json("run", package or firm, "--days", str(days), "--seed", "1")
    ended = failing.json("run", package or firm, "--days", str(days), "--seed", "1")
    played, asked = failing.faults.played, failing.faults.requests
    print(f"seed {SEED}, {wire}: {asked} requests, {played.total()} faults: {dict(played)}")
    assert ended["hash"] == whole["hash"]
    assert played.total() > 0
    if days == 20:
        assert played.total() >= asked // 20, "of a hundred requests by chance three may meet one; of thousands not"
        assert len(set(played)) >= len(KINDS) - 1, "which kinds come is drawn, and one of them may stay away"
    assert failing.clock.waited > 0
    assert ended["cost"]["micros"] >= failing.provider.money > 0
    assert failing.provider.refused == []


def _of(person: str, day: str) -> Callable[[ModelRequest], bool]:
    """Say yes to the requests of one person's activations that began on a day."""

    def lost(request: ModelRequest) -> bool:
        woken = [m.content for m in request.messages if m.role == "user" and m.content.startswith("# ")]
        return request.call[0].split(".")[0] == person and bool(woken) and day in woken[-1].split("\n", 1)[0]

    return lost


@DAYS
def test_a_person_whose_requests_fail_for_a_day_is_unavailable_and_the_office_goes_on(
    open_office: Opener, firm: str, days: int
) -> None:
    """RULE 3: it is logged, it is on the tape, and the record gives the same log without a call."""
    lead = read_package(Path(firm)).organization.matters[0].lead
    office = open_office(Provider(lost=_of(lead, "6 January 2026")), Faults(SEED, 100))
    ran = office.json("run", firm, "--days", str(days), "--seed", "1")
    lost = {p.id for p in map(_payload, office.log(ran["office"])) if _is_lost(p)}
    assert lost and lost == {call[0] for call in office.provider.refused}
    assert all(name.startswith(f"{lead}.") for name in lost)
    done = [p.id for p in map(_payload, office.log(ran["office"])) if isinstance(p, ActivationLanded)]
    last = max(done.index(name) for name in lost)
    assert any(name.startswith(f"{lead}.") for name in done[last:] if name not in lost), (
        "the day after is a day of work"
    )
    asked = office.faults.requests
    office.served.close()
    assert office.json("replay", ran["office"])["hash"] == ran["hash"]
    assert office.faults.requests == asked
    print(f"seed {SEED}: {len(office.provider.refused)} requests refused for good, {len(lost)} activations unavailable")


def _payload(data: bytes) -> Any:
    return decode(data).payload


def _is_lost(payload: Any) -> bool:
    return isinstance(payload, ActivationLanded) and payload.outcome == "unavailable"


@DAYS
def test_with_the_server_dead_the_clock_stands_still_and_the_run_stops_and_goes_on(
    open_office: Opener, firm: str, days: int
) -> None:
    """RULE 3: the run stops at a commit of the very log it would have written, and later goes on with it."""
    whole = open_office()
    told = whole.json("run", firm, "--days", str(days), "--seed", "1")
    provider, until = Provider(), [whole.provider.answers // 2]
    office = open_office(provider, Faults(SEED, 50, down=lambda: provider.answers >= until[0]))
    stopped = office("run", firm, "--days", str(days), "--seed", "1", "--json")
    assert stopped.code == 4, stopped.err
    assert "officetown run" in stopped.err
    part = office.log(stopped.result["office"])
    events = whole.log(told["office"])
    assert 0 < len(part) < len(events)
    assert part == list(islice(events, len(part)))
    assert office.clock.waited >= 1700, "the deadline is half an hour"
    again = office("run", stopped.result["office"], "--days", str(days), "--json")
    assert (again.code, again.result["sim_time"]) == (4, stopped.result["sim_time"])
    assert office.log(stopped.result["office"]) == part, "still dead: the clock stands"
    until[0] = 10**9
    went_on = office.json("run", stopped.result["office"], "--days", str(days))
    assert went_on["hash"] == told["hash"]
    asked = office.faults.requests
    assert office.json("replay", stopped.result["office"])["hash"] == told["hash"]
    assert office.faults.requests == asked
    print(f"seed {SEED}: stopped after {len(part)} of {len(events)} events, {office.clock.waited:.0f} s waited")
