"""Why is nothing happening: there is always an answer, whatever the reason."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from orchestrator.web.offices import Clock
from orchestrator.web.queries.health import CallWaiting, waiting, why
from orchestrator.web.queries.state import coming, desk, floor
from services.models.scripted import call
from services.storage.tables import outbox
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Parked
from simulator.errors import ModelOutage
from simulator.events import (
    ActivationStarted,
    Payload,
    PersonAdded,
    QuestionAsked,
    RequestMade,
    RoleTaken,
    SegmentLanded,
    StimulusArrived,
    WorkSubmitted,
)
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import Body, Person, Request, Running, Stimulus, Submission
from tests.access.world import MONDAY, RIVERBEND, World, juniper
from tests.web.support import Site, site
from tests.web.test_steering import O, until

STATES = ("still", "elsewhere", "starting", "running", "paused", "stopping", "ended", "stopped", "failed")


def _woken(person: str, at: int = MONDAY, kind: str = "mail") -> Payload:
    return StimulusArrived(person, Stimulus(f"s.{person}", kind, "x", at, "elena"))  # type: ignore[arg-type]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("busy", [True, False])
def test_every_state_has_an_answer(state: str, busy: bool) -> None:
    world = juniper()
    world.do(_woken("daniel"))
    if busy:
        world.do(
            ActivationStarted(Running("daniel.1", "principal", "daniel", ("daniel",), world.now, world.office.revision))
        )
    clock = Clock(state, 3, "120", 0, 5, "The disk is full." if state == "failed" else "", "process 7")
    begun = (CallWaiting("daniel.1", 1, "principal", 0),) if busy else ()
    for office in (world.office, Office(), juniper().office):
        said = why(office, clock, None, begun)
        assert len(said) > 20 and said.endswith((".", ":"))
    said = why(world.office, clock, None, begun)
    expected = {
        "still": "Nobody runs", "elsewhere": "process 7", "starting": "being opened", "paused": "paused", "ended": "5 days",
        "stopping": "answers in flight", "stopped": "stopped at a commit", "failed": "The disk is full.",
        "running": "Daniel" if busy else "goes on",
    }  # fmt: skip
    assert expected[state] in said


def _waits(world: World) -> dict[tuple[str, str], Any]:
    return {(w.who, w.ref): w for w in waiting(world.office)}


def test_who_waits_for_what_from_whom_and_until_when() -> None:
    world = juniper()
    asked = world.delegate("daniel", "reconcile", RIVERBEND)
    world.do(SegmentLanded(asked, 1, 1, "asked", Blob("0" * 64, 2), 3))
    world.do(QuestionAsked(asked, "q.1", Body("Which month?")))
    handed = world.delegate("daniel", "report", RIVERBEND)
    world.do(SegmentLanded(handed, 1, 1, "submitted", Blob("0" * 64, 2), 3))
    world.do(WorkSubmitted(handed, 1, Submission(world.now, (), Body("Done."))))
    stopped = world.delegate("elena", "read", RIVERBEND)
    world.do(SegmentLanded(stopped, 1, 1, "stopped", Blob("0" * 64, 2), 3, "lost its way"))
    begun = world.delegate("quinn", "look", RIVERBEND)
    world.do(RequestMade(Request("r.1", "elena", "nora", Body("a figure"), world.now, due=world.now + 900)))
    found = _waits(world)
    question = found[f"assistant:{asked}", "q.1"]
    assert question.of == "daniel" and question.until.at > world.now and "answer" in question.what
    assert found[f"assistant:{handed}", handed].what == "a review"
    assert "stopped" in found["elena", stopped].what
    assert "segment" in found[f"assistant:{begun}", begun].what
    request = found["elena", "r.1"]
    assert (request.of, request.until.at) == ("nora", request.since.at + 900)
    assert [w.since.at for w in waiting(world.office)] == sorted(w.since.at for w in waiting(world.office))


def test_an_inbox_waits_for_its_owner_or_for_whoever_plays_them() -> None:
    world = juniper()
    world.do(_woken("daniel"))
    starts = _waits(world)["daniel", ""]
    assert starts.until.at >= MONDAY and "1 things" in starts.what
    assert desk(world.office, world.office.people["daniel"]).doing == "due"
    assert ("daniel", "starts to work") in {(c.who, c.what) for c in coming(world.office)}
    world.do(RoleTaken("daniel"))
    assert "plays" in _waits(world)["daniel", ""].what
    assert desk(world.office, world.office.people["daniel"]).doing == "played"
    assert "Daniel" in why(world.office, Clock("running"), None, ())


def test_the_floor_says_what_each_is_doing() -> None:
    world = juniper()
    world.do(PersonAdded(Person("ida", "Ida", "Clerk", active=False)))
    world.do(_woken("daniel"))
    stimulus = world.office.inboxes["daniel"][0]
    world.do(
        ActivationStarted(
            Running("daniel.1", "principal", "daniel", ("daniel",), world.now, 1, (stimulus,), (stimulus.id,))
        )
    )
    meeting = world.meet("elena", ["elena", "quinn"], "Month-end")
    world.do(
        ActivationStarted(
            Running(f"{meeting}.m1", "meeting", f"!{meeting}", ("elena", "quinn"), world.now, 1, ref=meeting)
        )
    )
    shown = {p.id: p for p in floor(world.office).people}
    assert (shown["daniel"].doing, shown["daniel"].about) == ("working", "a mail from Elena")
    assert (shown["elena"].doing, shown["quinn"].about) == ("meeting", "Month-end")
    assert (shown["ida"].doing, shown["nora"].doing) == ("gone", "idle")
    assert {r.kind for r in floor(world.office).running} == {"principal", "meeting"}


# -- with a real run ------------------------------------------------------------------------------------------------------


class Held:
    """A model that answers nobody until it is let."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = threading.Event()

    def complete(self, request: ModelRequest) -> ModelResponse:
        self.asked.set()
        if not self.go.wait(60):
            raise Parked
        return call("finish")


def test_people_at_work_are_named_and_stopping_waits_for_their_answers(worked_home: Path, tmp_path: Path) -> None:
    shutil.copytree(worked_home, tmp_path / "home")
    model = Held()
    with site(tmp_path / "home", model=model) as one:
        one.tell("POST", f"{O}/run", {"days": 3, "speed": "max"})
        assert model.asked.wait(60)
        until(lambda: "At work" in one.ask(f"{O}/health")["why"])
        shown = one.ask(f"{O}/health")
        assert any(w["what"] == "a model's answer" for w in shown["waiting"])
        one.client().delete(f"{O}/run")
        assert "answers in flight" in one.ask(f"{O}/health")["why"]
        model.go.set()
        until(lambda: one.ask(f"{O}/run")["state"] == "stopped", 60)


class Down:
    """A model whose endpoint has been away for too long."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise ModelOutage("The endpoint https://models.example/v1 has not answered for 30 minutes: 503 overloaded.")


def test_the_last_error_is_told_verbatim(worked_home: Path, tmp_path: Path) -> None:
    shutil.copytree(worked_home, tmp_path / "home")
    with site(tmp_path / "home", model=Down()) as one:
        one.client().post(f"{O}/run", json={"days": 3, "speed": "max"})
        until(lambda: one.ask(f"{O}/run")["state"] == "failed")
        shown = one.ask(f"{O}/health")
        assert "503 overloaded" in shown["why"] and "503 overloaded" in shown["last_error"]
        key = one.tell("POST", f"{O}/people/elena/keys", status=201)["key"]
        office = one.house.row("Juniper").id
        words = one.refused(f"/offices/{office}/as/elena/acts", 409, key, "POST", json={"tool": "save"})
        assert "503" not in words, "the machine's affairs are not a person's"


def test_an_outage_is_told_while_it_is_waited_out_and_can_be_stopped(worked_home: Path, tmp_path: Path) -> None:
    """RULE 3: an outage stops the clock, not whoever wants to stop the office."""
    home = tmp_path / "home"
    shutil.copytree(worked_home, home)
    (home / "officetown.toml").write_text('[default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "away"\n')
    with site(home) as one:
        assert [e["name"] for e in one.ask(f"{O}/health")["endpoints"]] == ["away"]
        refused = one.client().post(f"{O}/run", json={"days": 3, "speed": "max"})
        assert refused.status_code == 409 and "away" in refused.text, "asked once, before anything starts"
        one.tell("POST", f"{O}/run", {"days": 3, "speed": "max", "check": False})
        until(lambda: one.ask(f"{O}/health")["remarks"] != [], 60)
        assert "does not answer" in one.ask(f"{O}/health")["why"]
        one.client().delete(f"{O}/run")
        until(lambda: one.ask(f"{O}/run")["state"] == "stopped", 20)


def test_what_waits_to_be_delivered_is_shown_lane_by_lane(copied: Site) -> None:
    row = copied.house.row("Juniper")
    with copied.house.database.writing() as connection:
        for n, (lane, error) in enumerate((("mail:elena", "CarrierError: down"), ("mail:elena", ""), ("chat:x", ""))):
            values = {"office": row.id, "key": f"k{n}", "lane": lane, "kind": "mail", "body": b"", "sequence": 10_000 + n,
                      "state": "claimed" if error else "waiting", "attempts": n + 1, "next_attempt": 5, "last_error": error}  # fmt: skip
            connection.execute(outbox.insert(), values)
    shown = {lane["lane"]: lane for lane in copied.ask(f"{O}/health")["outbox"]}
    assert (shown["mail:elena"]["waiting"], shown["mail:elena"]["last_error"]) == (2, "CarrierError: down")
    assert shown["chat:x"]["waiting"] == 1
    assert copied.ask(f"{O}/health")["last_error"] == "CarrierError: down"
