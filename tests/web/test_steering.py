"""One clock, several browsers: paused, stepped, faster and slower; and offices that run here, elsewhere, or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from orchestrator.output import Out
from orchestrator.replaying import replay
from orchestrator.web.steering import SteeredClock, speed_of
from simulator.businesstime import calendar_for
from simulator.engine.inbound import Doorstep
from simulator.errors import UsageError
from simulator.events import CalendarRules
from simulator.office import Office
from simulator.ports import InboundItem
from tests.web.support import Site

O = "/offices/Juniper"  # noqa: E741 - the address that every question here begins with
NINE = calendar_for(CalendarRules()).at("2026-01-05", 540)


class Desk:
    """A steered clock whose engine waits in a thread, and which can be asked whether it still does."""

    def __init__(self, speed: int, paused: bool = False) -> None:
        self.door = Doorstep()
        self.changes = 0
        self.commits = 0
        self.clock = SteeredClock(Office(now=NINE), self.door, time.monotonic, speed, paused, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def _commit(self) -> None:
        self.commits += 1

    def before(self, at: int) -> bool:
        """Ask whether an instant may be processed, as the engine does: again until it may, or something else is due."""
        return self.clock.before(at, 0, self._commit)

    def waiting(self, at: int) -> tuple[threading.Thread, list[bool]]:
        """Have a thread ask for an instant, as often as the engine would, until it may or is to do something else."""
        answers: list[bool] = []

        def ask() -> None:
            while not self.before(at):
                if self.door.waiting or self.clock._ended:
                    answers.append(False)
                    return
            answers.append(True)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return thread, answers


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        threading.Event().wait(0.02)


# -- the clock alone ------------------------------------------------------------------------------------------------------


def test_paused_it_stands_until_it_is_let_go_on() -> None:
    desk = Desk(0, paused=True)
    thread, answers = desk.waiting(NINE + 60)
    until(lambda: desk.commits > 0)
    assert thread.is_alive() and not answers, "what was done before is committed, so that whoever watches sees it"
    desk.clock.steer(paused=False)
    thread.join(60)
    assert answers == [True]


def test_a_step_is_one_instant_and_then_it_stands_again() -> None:
    desk = Desk(120, paused=True)
    desk.clock.steer(steps=2)
    began = time.monotonic()
    assert desk.before(NINE + 3600) and desk.before(NINE + 7200)
    assert time.monotonic() - began < 5, "steps are not paced"
    thread, answers = desk.waiting(NINE + 7260)
    until(lambda: desk.commits > 0)
    assert not answers and desk.clock.steps == 0
    desk.clock.end()
    thread.join(60)
    assert answers == [False]


def test_what_comes_in_wakes_a_clock_that_stands_and_one_that_waits() -> None:
    """RULE 4: it enters between two commits, so what waits is committed first."""
    desk = Desk(1)
    for paused in (True, False):
        desk = Desk(1, paused)
        thread, answers = desk.waiting(NINE + 36_000)
        until(lambda desk=desk: desk.commits > 0)  # type: ignore[misc]
        desk.door.put(InboundItem("k", "ada", "post_message"))
        desk.clock.nudge()
        thread.join(60)
        assert answers == [False]
    commits = desk.commits
    assert desk.before(NINE + 60) is False and desk.commits > commits, "or the engine would ask for ever"


def test_the_speed_changes_while_it_waits() -> None:
    desk = Desk(1)
    thread, answers = desk.waiting(NINE + 30)
    until(lambda: desk.commits > 0)
    assert not answers
    desk.clock.steer(speed=0)
    thread.join(60)
    assert answers == [True]
    desk.clock.steer(speed=120)
    began = time.monotonic()
    desk.waiting(NINE + 60)[0].join(60)
    assert time.monotonic() - began < 5


def test_time_stands_still_for_the_office_while_it_is_paused() -> None:
    """After a pause nothing is caught up on: the office goes on at its pace."""
    wall = [100.0]
    desk = Desk(120)
    desk.clock._wall = lambda: wall[0]
    desk.clock._clock = desk.clock._fresh(NINE)
    desk.clock.steer(paused=True)
    thread, answers = desk.waiting(NINE + 12_000)
    until(lambda: desk.commits > 0)
    wall[0] += 1_000
    desk.clock.steer(paused=False)
    until(lambda: desk.clock._stood == 1_000)
    assert thread.is_alive() and not answers, "100 seconds of wall time are left to wait"
    wall[0] += 101
    thread.join(60)
    assert answers == [True]


def test_after_a_stretch_without_pace_nothing_is_waited_for_twice() -> None:
    desk = Desk(0)
    assert desk.before(NINE + 20_000)
    desk.clock.steer(speed=120)
    began = time.monotonic()
    thread, answers = desk.waiting(NINE + 20_060)
    thread.join(60)
    assert answers == [True] and time.monotonic() - began < 5


def test_every_command_is_told_of() -> None:
    desk = Desk(120)
    desk.clock.steer(paused=True)
    desk.clock.steer(speed=5)
    desk.clock.steer(steps=1)
    desk.before(NINE + 1)
    assert desk.changes == 4


@pytest.mark.parametrize("text", ["0", "121", "-1", "fast", "", "1e2", "\u0663", "9" * 5_000])
def test_speeds_there_are_not(text: str) -> None:
    with pytest.raises(UsageError, match="speed"):
        speed_of(text)
    assert (speed_of("max"), speed_of("1"), speed_of("120")) == (0, 1, 120)


# -- offices --------------------------------------------------------------------------------------------------------------


def _state(one: Site, name: str = "Juniper") -> str:
    return str(one.ask(f"/offices/{name}/run")["state"])


def test_an_office_is_started_stepped_let_go_and_stopped_and_is_what_it_would_have_been(copied: Site) -> None:
    """DESIGN 5: the clock never changes the log."""
    before = copied.ask(O)["head"]
    clock = copied.tell("POST", f"{O}/run", {"days": 3, "paused": True})
    assert (clock["state"], clock["days"]) == ("paused", 3)
    assert copied.ask("/offices")[0]["running"] is True
    assert "paused" in copied.ask(f"{O}/health")["why"]
    copied.refused(f"{O}/run", 409, method="POST", json={"days": 3})
    stepped = copied.tell("PUT", f"{O}/run", {"steps": 3})
    assert stepped["version"] > clock["version"]
    until(lambda: copied.ask(f"{O}/run")["steps"] == 0 and copied.ask(O)["head"] > before)
    copied.tell("PUT", f"{O}/run", {"speed": "max", "paused": False})
    until(lambda: _state(copied) == "ended", 60)
    assert "days are over" in copied.ask(f"{O}/health")["why"]
    replay(copied.house, Out(quiet=True), "Juniper")
    assert copied.tell("POST", f"{O}/run", {"days": 4, "paused": True})["version"] > stepped["version"]
    assert copied.tell("DELETE", f"{O}/run")["state"] in ("stopping", "stopped")
    until(lambda: _state(copied) == "stopped")
    assert "stopped at a commit" in copied.ask(f"{O}/health")["why"]


def test_two_browsers_steer_one_clock_and_the_last_command_wins(copied: Site) -> None:
    copied.tell("POST", f"{O}/run", {"days": 40, "paused": True})
    versions: list[int] = []

    def steer(paused: bool) -> None:
        for speed in range(1, 26):
            versions.append(copied.tell("PUT", f"{O}/run", {"paused": paused, "speed": str(speed)})["version"])

    browsers = [threading.Thread(target=steer, args=(paused,)) for paused in (True, False)]
    for browser in browsers:
        browser.start()
    for browser in browsers:
        browser.join()
    assert len(versions) == 50
    last = copied.tell("PUT", f"{O}/run", {"paused": True, "speed": "7"})
    assert last["version"] > max(versions)
    shown = copied.ask(f"{O}/run")
    assert (shown["state"], shown["speed"], shown["version"]) == ("paused", "7", last["version"])


def test_an_office_that_another_process_runs_is_shown_and_cannot_be_steered(copied: Site) -> None:
    house = copied.house
    with closing(house.offices.open(house.row("Juniper").id)):
        shown = copied.ask(f"{O}/run")
        assert shown["state"] == "elsewhere" and "process" in shown["holder"]
        assert "read only" in copied.ask(f"{O}/health")["why"]
        assert copied.ask(f"{O}/state")["revision"] > 0
        assert "in use" in copied.refused(f"{O}/run", 409, method="POST", json={"days": 3})
        assert "Another process" in copied.refused(f"{O}/run", 409, method="PUT", json={"paused": True})
        copied.refused(f"{O}/as/elena/acts", 409, method="POST", json={"tool": "post_message"})
    assert _state(copied) in ("still", "failed")
    assert copied.tell("POST", f"{O}/run", {"days": 3, "paused": True})["state"] == "paused"


def test_several_offices_run_side_by_side(copied: Site) -> None:
    twin = copied.tell("POST", f"{O}/forks", {"at": "2026-01-05", "name": "Twin", "without": ["reviews"]}, status=201)
    assert (twin["name"], twin["parent"]) == ("Twin", copied.house.row("Juniper").id)
    assert copied.ask("/offices/Twin")["switches"]["reviews"] is False
    for name in ("Juniper", "Twin"):
        copied.tell("POST", f"/offices/{name}/run", {"days": 3, "paused": name == "Twin", "speed": "max"})
    until(lambda: _state(copied) == "ended", 60)
    assert _state(copied, "Twin") == "paused"


@pytest.mark.parametrize(
    "body",
    [
        {}, {"days": 0}, {"days": 99_999_999}, {"days": "3"}, {"days": 3, "speed": "fast"}, {"days": 3, "budget": "much"},
        {"days": 3, "concurrency": 0}, {"days": 3, "workers": 10**9}, {"days": 3, "more": 1}, {"days": 10**30},
        {"days": 3, "speed": "max", "play": ["elena"]},
    ],
)  # fmt: skip
def test_a_run_that_nobody_could_follow_is_refused_before_it_begins(watched: Site, body: dict[str, object]) -> None:
    watched.refused(f"{O}/run", 422, method="POST", json=body)
    assert _state(watched) == "still"


def test_what_a_run_cannot_do_is_told_with_the_reason(copied: Site) -> None:
    assert "nobody" in copied.refused(f"{O}/run", 409, method="POST", json={"days": 3, "play": ["nobody"]}).lower()
    assert "nobody" in copied.ask(f"{O}/health")["last_error"].lower()
    copied.refused(f"{O}/run", 409, method="DELETE")
    copied.refused(f"{O}/run", 409, method="PUT", json={"steps": 1})


def test_the_server_stops_every_office_at_a_commit(copied: Site) -> None:
    copied.tell("POST", f"{O}/run", {"days": 60, "speed": "max"})
    assert copied.parts.town.close(60) == ()
    head = copied.ask(O)["head"]
    with closing(copied.house.offices.open(copied.house.row("Juniper").id)) as journal:
        assert journal.head == head
    copied.refused(f"{O}/run", 409, method="POST", json={"days": 61})
