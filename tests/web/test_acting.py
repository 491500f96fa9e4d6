"""Acting as a person through the API: with that person's rights, once, at a commit; new offices, forks and tasks."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.output import Out
from orchestrator.replaying import replay
from orchestrator.web.jobs import Jobs
from simulator.errors import UnknownReference, UsageError
from tests.web.support import OPERATOR_KEY, Site, site
from tests.web.test_steering import O, until

HOSTILE = '<script>alert(1)</script> =HYPERLINK("x") \u202e \x00 ' + "\u0000"


@pytest.fixture
def paused(copied: Site) -> Site:
    """Juniper, running here and paused."""
    copied.tell("POST", f"{O}/run", {"days": 4, "paused": True})
    return copied


@pytest.fixture(scope="module")
def refusing(worked_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Juniper, running here and paused, in which nothing is done that is let in."""
    home = tmp_path_factory.mktemp("refusing") / "home"
    shutil.copytree(worked_home, home)
    with site(home) as one:
        one.tell("POST", f"{O}/run", {"days": 4, "paused": True})
        yield one


def _landed(one: Site, person: str, key: str, token: str = OPERATOR_KEY) -> Any:
    """Wait until an act is in the office's log; return what became of it."""
    office = one.house.row("Juniper").id
    until(lambda: one.ask(f"/offices/{office}/as/{person}/acts/{key}", token)["state"] == "in")
    return one.ask(f"/offices/{office}/as/{person}/acts/{key}", token)


def test_a_message_enters_while_the_office_is_paused_and_is_the_persons_own(paused: Site) -> None:
    """RULE 4: between two commits, with the author's rights; and a replay brings it in again."""
    room = "room-general"
    body = {"tool": "post_message", "arguments": {"to": room, "text": HOSTILE, "asks": True}, "key": "one"}
    taken = paused.tell("POST", f"{O}/as/elena/acts", body, status=202)
    assert _landed(paused, "elena", taken["key"])["conflicts"] == []
    newest = paused.ask(f"{O}/as/elena/rooms/{room}/messages")["items"][0]
    assert (
        newest["sender"] == "elena" and "<script>alert(1)</script>" in newest["text"] and "\x00" not in newest["text"]
    )
    again = paused.tell("POST", f"{O}/as/elena/acts", body, status=202)
    assert again["state"] == "in", "a key happens once, however often it is sent"
    assert paused.ask(f"{O}/as/elena/rooms/{room}/messages")["items"][0] == newest
    second = paused.tell(
        "POST", f"{O}/as/daniel/acts", {**body, "arguments": {"to": room, "text": "So do I."}}, status=202
    )
    _landed(paused, "daniel", second["key"])
    paused.tell("PUT", f"{O}/run", {"speed": "max", "paused": False})
    until(lambda: paused.ask(f"{O}/run")["state"] == "ended", 90)
    replay(paused.house, Out(quiet=True), "Juniper")


def test_files_come_with_a_message(paused: Site) -> None:
    room = next(r["id"] for r in paused.ask(f"{O}/as/elena/rooms") if r["kind"] != "direct")
    name = "<img src=x onerror=alert(1)>.html"
    sent = {"name": name, "base64": base64.b64encode(b"<script>alert(2)</script>").decode()}
    body = {"tool": "post_message", "arguments": {"to": room, "text": "Look."}, "files": [sent]}
    taken = paused.tell("POST", f"{O}/as/elena/acts", body, status=202)
    _landed(paused, "elena", taken["key"])
    cited = paused.ask(f"{O}/as/elena/rooms/{room}/messages")["items"][0]["cites"]
    answer = paused.client().get(f"{O}/as/elena/files/{cited[0]['file']}/versions/1/content")
    assert answer.content == b"<script>alert(2)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"tool": "post_message", "arguments": {"to": "nowhere", "text": "x"}}, "cannot be done"),
        ({"tool": "post_message", "arguments": {"to": "x"}}, "not valid"),
        ({"tool": "post_message", "arguments": {"to": "x", "text": "y", "z": 1}}, "not valid"),
        ({"tool": "fly"}, "no act"), ({"tool": "receive"}, "no act"), ({"tool": "write_mail"}, "no act"),
        ({"tool": "take_over"}, "no act"),
        ({"tool": "post_message", "arguments": {"to": "room-general", "text": "x"}, "files": [{"name": "a", "base64": "!"}]},
         "base64"),
        ({"tool": "accept", "arguments": {"file": "nothing"}}, "cannot be done"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_at_once_with_the_reason(refusing: Site, body: dict[str, Any], words: str) -> None:
    head = refusing.ask(O)["head"]
    assert words in refusing.refused(f"{O}/as/elena/acts", 422, method="POST", json=body)
    assert refusing.ask(O)["head"] == head


def test_a_persons_key_acts_as_them_and_as_nobody_else(paused: Site) -> None:
    """RULE 4 and issue 5: a person's token used for another person."""
    office = paused.house.row("Juniper").id
    key = paused.tell("POST", f"{O}/people/elena/keys", status=201)["key"]
    body = {"tool": "save", "arguments": {"path": "Notes/mine.md", "text": "mine"}, "key": "k"}
    taken = paused.tell("POST", f"/offices/{office}/as/elena/acts", body, key, 202)
    _landed(paused, "elena", taken["key"], key)
    assert "/home/npc/computer/Notes/mine.md" in {
        f["path"] for f in paused.every(f"/offices/{office}/as/elena/files", key)
    }
    words = {
        paused.refused(f"/offices/{office}/as/{person}/acts", 404, key, "POST", json=body)
        for person in ("daniel", "nobody")
    }
    assert len(words) == 1
    paused.refused(f"/offices/{office}/as/daniel/role", 404, key, "PUT", json={"played": True})
    assert paused.ask(f"/offices/{office}/as/daniel/acts/{taken['key']}")["state"] == "in"
    assert paused.ask(f"/offices/{office}/as/daniel/acts/{taken['key']}")["conflicts"] == []


def test_a_role_is_played_and_given_back(paused: Site) -> None:
    paused.tell("PUT", f"{O}/as/elena/role", {"played": True})
    until(lambda: paused.ask(f"{O}/as/elena")["played"])
    assert next(p for p in paused.ask(f"{O}/people") if p["id"] == "elena")["doing"] == "played"
    assert "RULE 4" in paused.refused(f"{O}/run", 409, method="PUT", json={"speed": "max"})
    paused.tell("DELETE", f"{O}/run")
    until(lambda: paused.ask(f"{O}/run")["state"] == "stopped")
    assert "RULE 4" in paused.refused(f"{O}/run", 409, method="POST", json={"days": 4, "speed": "max"})
    paused.tell("POST", f"{O}/run", {"days": 4, "paused": True})
    assert paused.ask(f"{O}/as/elena")["played"], "a restart takes no role away from whoever plays it"
    paused.tell("PUT", f"{O}/as/elena/role", {"played": False})
    until(lambda: not paused.ask(f"{O}/as/elena")["played"])
    paused.tell("PUT", f"{O}/run", {"speed": "max"})
    assert "max" in paused.refused(f"{O}/as/elena/role", 409, method="PUT", json={"played": True})


def test_nothing_is_done_in_an_office_that_does_not_run(watched: Site) -> None:
    body = {"tool": "post_message", "arguments": {"to": "x", "text": "y"}}
    assert "does not run here" in watched.refused(f"{O}/as/elena/acts", 409, method="POST", json=body)
    watched.refused(f"{O}/as/elena/role", 409, method="PUT", json={"played": True})
    watched.refused(f"{O}/as/nobody/acts", 404, method="POST", json=body)
    tools = {t["name"]: t for t in watched.ask(f"{O}/as/elena/tools")}
    assert "post_message" in tools and "receive" not in tools and tools["delegate"]["parameters"]
    assert [t["name"] for t in watched.ask(f"{O}/as/maya/tools")] == ["write_mail"]


def test_an_office_is_made_from_a_package_and_from_a_brief(empty: Site) -> None:
    assert [p["name"] for p in empty.ask("/packages")] == ["juniper"]
    job = empty.tell("POST", "/offices", {"package": "juniper", "seed": 3, "name": "First"}, status=202)
    until(lambda: empty.ask(f"/jobs/{job['id']}")["state"] == "done")
    made = empty.ask(f"/jobs/{job['id']}")["result"]["office"]
    assert empty.ask(f"/offices/{made}")["seed"] == 3
    brief = {
        "brief": "A four-person bookkeeping office with two clients.",
        "people": 4,
        "run": {"days": 1, "paused": True},
    }
    job = empty.tell("POST", "/offices", brief, status=202)
    until(lambda: empty.ask(f"/jobs/{job['id']}")["state"] != "working", 90)
    ended = empty.ask(f"/jobs/{job['id']}")
    assert ended["state"] == "done", ended["error"]
    assert ended["lines"] and empty.ask(f"/offices/{ended['result']['office']}/run")["state"] == "paused"
    assert ended["result"]["package"] in [p["name"] for p in empty.ask("/packages")]
    assert "First" in [o["name"] for o in empty.ask("/offices")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ({"package": "juniper", "brief": "both"}, 422), ({"package": "none"}, 404), ({"package": "../juniper"}, 404),
        ({"package": "/etc"}, 404), ({"package": "juniper", "name": "\x00\x01"}, 422), ({"brief": "x" * 5_000}, 422),
        ({"package": "juniper", "seed": 2**70}, 422), ({"package": "juniper", "people": 10**9}, 422),
    ],
)  # fmt: skip
def test_an_office_that_cannot_be_made_is_not(empty: Site, body: dict[str, Any], status: int) -> None:
    answer = empty.client().post("/offices", json=body)
    if answer.status_code == 202:
        assert "\x00" in body["name"], "a name of nothing but controls is cleaned"
        return
    assert answer.status_code == status, answer.text
    assert empty.ask("/offices") == []


def test_work_is_frozen_into_tasks(copied: Site) -> None:
    done = next(d for d in copied.every(f"{O}/delegations") if d["state"] == "accepted")
    job = copied.tell("POST", f"{O}/snapshots", {"delegation": done["id"]}, status=202)
    until(lambda: copied.ask(f"/jobs/{job['id']}")["state"] != "working", 60)
    ended = copied.ask(f"/jobs/{job['id']}")
    assert ended["state"] == "done", ended["error"]
    (name,) = ended["result"]["snapshots"]
    assert (Path(ended["result"]["folder"]) / name / "task.toml").is_file()
    copied.refused(f"{O}/snapshots", 422, method="POST", json={})
    job = copied.tell("POST", f"{O}/snapshots", {"delegation": "none"}, status=202)
    until(lambda: copied.ask(f"/jobs/{job['id']}")["state"] == "failed")
    assert "none" in copied.ask(f"/jobs/{job['id']}")["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"at": "never"}, 422), ({"at": "999999"}, 422), ({"at": ""}, 422), ({"at": "1", "without": ["people"]}, 422), ({}, 422),
        ({"at": "2020-01-01"}, 422), ({"at": "\u00b2"}, 422), ({"at": "9999-12-31"}, 422),
    ],
)  # fmt: skip
def test_a_fork_at_no_moment_is_refused(watched: Site, body: dict[str, Any], status: int) -> None:
    answer = watched.client().post(f"{O}/forks", json=body)
    assert answer.status_code in (status, 404), answer.text
    assert len(watched.ask("/offices")) == 1


def test_jobs_are_bounded_and_their_faults_are_kept() -> None:
    jobs = Jobs(lambda: 0.0, at_once=1)

    def wrong(heard: object) -> None:
        raise UsageError("It cannot be.")

    def broken(heard: object) -> None:
        raise ZeroDivisionError("by zero")

    assert jobs.start("wrong", wrong, 10).error == "It cannot be."
    assert "ZeroDivisionError" in jobs.start("broken", broken, 10).error
    for _ in range(60):
        jobs.start("done", lambda heard: heard.say("fine"), 10)
    assert len(jobs.list()) == 50 and jobs.list()[0].lines == ("fine",)
    with pytest.raises(UnknownReference):
        jobs.get("job-1")
