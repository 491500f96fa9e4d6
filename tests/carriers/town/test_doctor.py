"""`officetown doctor --live`: posts, uploads, mails, schedules and reads back, a line for each."""

from __future__ import annotations

import pytest

from orchestrator.compose import House
from orchestrator.doctor import doctor
from orchestrator.output import Out
from orchestrator.settings import read_settings
from simulator.carrying import staff_of
from simulator.errors import InfrastructureError, UsageError
from tests.carriers.standins.faults import Fault
from tests.carriers.town.town import Town


def told(town: Town, live: bool = True) -> list[str]:
    """Return what the doctor says."""
    house = House(town.settings())
    out = Out(quiet=True)
    said: list[str] = []
    out.say = said.append  # type: ignore[method-assign, assignment]
    try:
        doctor(house, out, gc=False, live=live)
    except InfrastructureError:
        said.append("faults")
    finally:
        house.close()
    return said


def test_everything_passes_through_servers_that_are_well(town: Town) -> None:
    town.run(1)
    said = told(town)
    assert "faults" not in said and not [line for line in said if line.startswith("FAIL")]
    tried = [line for line in said if line.startswith("ok")]
    for word in ("post", "upload", "mail", "calendar", "read"):
        assert any(word in line for line in tried), (word, tried)
    assert staff_of(town.people())
    town.agrees(foreign_mails=0)


def test_what_does_not_pass_is_a_line_that_fails(town: Town) -> None:
    town.run(1)
    town.chat.faults.plan(Fault("status", status=500, match="rooms.media", count=5))
    town.mail.stop()
    said = told(town)
    failing = [line for line in said if line.startswith("FAIL")]
    assert any("upload" in line for line in failing) and any("mail" in line for line in failing)
    assert said[-1] == "faults"


def test_without_live_nothing_is_written(town: Town) -> None:
    town.run(1)
    before = (town.chat.state()["messages"], town.mail.state()["messages"])
    assert "faults" not in told(town, live=False)
    assert (town.chat.state()["messages"], town.mail.state()["messages"]) == before


def test_live_without_servers_is_told(town: Town) -> None:
    house = House(read_settings({"OFFICETOWN_HOME": str(town.home)}))
    with pytest.raises(UsageError, match="none is set up"):
        doctor(house, Out(quiet=True), gc=False, live=True)
    house.close()
