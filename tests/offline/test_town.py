"""Juniper lived by the offline professional, in this process with real sandboxes: the story happens by itself."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Literal

import pytest

from services.models.endpoint import Endpoint
from services.models.http_server import serve
from services.offline import OfflineProfessional
from services.sandbox.bubblewrap import Bubblewrap
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Settings
from simulator.errors import SandboxUnavailable
from simulator.events import Event, Payload, WorkReviewed
from simulator.office import Office
from tests.models.stories import Wired, wire_for
from tests.offline.town import Town

pytestmark = pytest.mark.sandbox


class Seen:
    """Keeps every event, as an observer of the run."""

    def __init__(self) -> None:
        self.payloads: list[Payload] = []

    def event(self, event: Event, office: Office) -> None:
        self.payloads.append(event.payload)


def lived(days: int, seed: int = 1, model: object = None, settings: Settings | None = None) -> tuple[Town, Seen]:
    town, seen = Town(seed, model), Seen()  # type: ignore[arg-type]
    boxes = Bubblewrap(town.blobs)
    try:
        boxes.check()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    try:
        town.run(days, boxes, (seen,), settings)
    finally:
        boxes.close()
    return town, seen


@pytest.fixture(scope="module")
def month() -> tuple[Town, Seen]:
    return lived(30)


def test_work_flows_from_the_clients_mail_back_to_the_client(month: tuple[Town, Seen]) -> None:
    office = month[0].office
    sent = [m for m in office.mails.values() if m.attachments and office.people[m.sender].kind == "staff"]
    assert len(sent) > 10
    for mail in sent:
        assert all(office.people[to].kind == "client" for to in mail.to)
        for ref in mail.attachments:
            held = {
                office.acceptances[a].capacity
                for a in office.accepted.get(ref.file, ())
                if office.acceptances[a].version >= ref.version
            }
            assert {"accept", "quality_signoff"} <= held, "nothing reaches a client without both"
    assert {office.people[m.sender].client for m in office.mails.values() if m.external} >= {
        "riverbend",
        "oakridge",
        "saltmarsh",
    }


def test_reports_are_not_believed_and_every_note_names_a_file(month: tuple[Town, Seen]) -> None:
    town, seen = month
    reviews = [p.review for p in seen.payloads if isinstance(p, WorkReviewed)]
    decided = Counter(r.decision for r in reviews)
    assert decided["accept"] > 20 and decided["revise"] >= 3 and decided["supplement"] >= 1
    for review in reviews:
        text = review.notes.text or town.journal.body(review.notes.sha256)
        assert review.decision == "accept" or any(end in text for end in (".xlsx", ".md", ".docx", ".csv", ".pdf")), (
            text
        )


def test_nobody_waits_for_ever(month: tuple[Town, Seen]) -> None:
    office = month[0].office
    week = 7 * 86_400
    old = [r.id for r in office.requests.values() if r.state in ("open", "accepted") and office.now - r.at > week]
    stuck = [
        d.id
        for d in office.delegations.values()
        if d.state not in ("accepted", "withdrawn") and office.now - d.at > week
    ]
    assert not old and not stuck
    promises = [
        m
        for m in office.memories.values()
        if m.kind == "commitment" and not m.closed_at and m.due and office.now - m.due > week
    ]
    assert not promises, "promises are closed when they are kept"


def test_nobody_is_refused_the_same_thing_again_and_again(month: tuple[Town, Seen]) -> None:
    refusals: Counter[tuple[str, str]] = Counter()
    for activation, calls in month[0].disk.activations.items():
        last = max(calls, key=lambda pair: len(pair[0].messages))[0]
        for message in last.messages:
            if message.role == "tool" and '"ok":false' in message.content:
                refusals[activation.rpartition(".")[0], message.content[:200]] += 1
    talked = [
        text
        for (_, text), n in refusals.items()
        if "not released" not in text and "already given" not in text and n > 8
    ]
    assert not talked, talked


def test_one_months_result_is_the_next_ones_input_and_kinds_build_on_one_another(month: tuple[Town, Seen]) -> None:
    office = month[0].office

    def depth(delegation: str, seen: tuple[str, ...] = ()) -> int:
        versions = [office.files[ref.file].versions[ref.version - 1] for ref in office.delegations[delegation].inputs]
        below = [
            depth(v.delegation, (*seen, delegation)) for v in versions if v.delegation and v.delegation not in seen
        ]
        return 1 + max(below, default=0)

    assert max(depth(d) for d in office.delegations) >= 4, "a chain of digests, week upon week"
    packs = [d for d in office.delegations.values() if d.work == "management-pack"]
    assert packs and any(len(d.inputs) >= 3 for d in packs), "commentary, reconciliation and variance"


def test_meetings_decide_and_questions_stay_open(month: tuple[Town, Seen]) -> None:
    office = month[0].office
    held = [m for m in office.meetings.values() if m.state == "held"]
    assert any("Kick-off" in m.title for m in held) and any("close" in m.title for m in held)
    kinds = Counter(m.kind for m in office.memories.values())
    assert kinds["decision"] > 3 and kinds["question"] > 3
    assert sum(len(d.questions) for d in office.delegations.values()) >= 3, "assistants ask"


class Late:
    """Answers after a while of its own choosing: what is true must not hang on it."""

    def __init__(self, seed: int) -> None:
        self._model, self._draw, self._lock = OfflineProfessional(), random.Random(seed), threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        with self._lock:
            pause = self._draw.paretovariate(2.0) * 0.0004
        time.sleep(min(pause, 0.02))
        return self._model.complete(request)


def test_the_log_is_the_same_at_any_concurrency_and_latency_rule_1() -> None:
    first, _ = lived(5)
    alone, _ = lived(5, settings=Settings(concurrency=1, workers=1))
    late, _ = lived(5, model=Late(3))
    assert first.disk.log == alone.disk.log == late.disk.log
    other, _ = lived(2, seed=2)
    assert other.disk.log != lived(2)[0].disk.log


def test_a_call_costs_little(month: tuple[Town, Seen]) -> None:
    requests = [request for (request, _) in month[0].disk.calls.values()][:800]
    model, before = OfflineProfessional(), time.thread_time()
    for request in requests:
        model.complete(request)
    spent = (time.thread_time() - before) / len(requests)
    assert spent < 0.006, f"{spent * 1000:.2f} ms a call"


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_behind_http_it_is_the_same_professional(month: tuple[Town, Seen], wire: Literal["chat", "responses"]) -> None:
    requests = [request for request, _ in month[0].disk.calls.values()]
    chosen = [next(r for r in requests if r.role == role) for role in ("principal", "client", "assistant")]
    with serve(OfflineProfessional()) as server:
        link = wire_for(Endpoint(server.url, "officetown", wire=wire))
        model = Wired(link)
        for request in [*chosen, *requests[7:400:29]]:
            here, there = OfflineProfessional().complete(request), model.complete(request)
            assert there.tool_calls == here.tool_calls and there.finish == here.finish and there.content == here.content
        link.close()
