"""The questions the record must answer, and that the same story told again is the same, byte for byte."""

from __future__ import annotations

import json

import pytest

from orchestrator import commands, looking
from orchestrator.output import Out
from orchestrator.tracing import trace
from services.documents.renderer import DocumentRenderer
from simulator.access import can, publish_refusals
from simulator.engine.environment import Settings
from simulator.engine.history import as_of
from simulator.events import MailSent, OfficeForked, decode
from tests.story.firm import moment
from tests.story.script import hasty
from tests.story.telling import Sandboxes, Told, engine, tell_in_memory

ROWS = [
    "2026-01-05 09:04", "2026-01-05 09:10", "2026-01-05 09:19", "2026-01-05 11:12", "2026-01-05 11:40", "2026-01-05 12:25",
    "2026-01-05 13:00", "2026-01-05 15:10", "2026-01-05 15:40", "2026-01-06 10:15", "2026-01-06 11:30", "2026-01-07 14:20",
]  # fmt: skip


def test_why_did_maya_get_this_file(told: Told) -> None:
    """The chain leads from Elena's mail back to Maya's own."""
    (mail,) = (p.mail for e, p in told.payloads(MailSent) if e.actor == "elena")
    steps = trace(told.reader, mail.id)
    made = [s.revision for s in steps]
    assert made == sorted(made, reverse=True)
    kinds = {type(told.events[r - 1].payload).__name__ for r in made}
    assert {"MailSent", "FileSaved", "DelegationOpened", "RequestMade"} <= kinds
    asked = next(
        e.revision for e, p in told.payloads(MailSent) if e.actor == "maya" and e.sim_time < moment("2026-01-06 00:00")
    )
    assert asked in made


def test_who_could_see_version_1_on_monday_at_four(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says Daniel alone, and why."""
    looking.who_can(
        told.house, Out(json=True, quiet=True), told.office_id, f"{told.book(1).file}@1", "2026-01-05 16:00"
    )
    answer = json.loads(capsys.readouterr().out)
    assert "daniel" in json.dumps(answer) and "its owner" in json.dumps(answer)
    for other in ("elena", "quinn", "dev", "tomas", "maya"):
        assert other not in json.dumps(answer)


def test_what_would_have_happened_without_reviews(told: Told, sandboxes: Sandboxes) -> None:
    """Forked at Monday 11:40 with reviews off, Maya gets version 1 on Monday, and it is wrong by 850.00."""
    child = commands.fork(told.house, Out(quiet=True), told.office_id, "2026-01-05 11:40", ["reviews"], "")
    journal = told.house.offices.open(child)
    try:
        forked = as_of(journal)
        first = decode(list(journal.events(forked.revision - 1))[0][1]).payload
        assert isinstance(first, OfficeForked) and not first.switches.reviews
        assert [data for _, data in journal.events(upto=forked.revision - 1)] == told.log[: forked.revision - 1]
        office = engine(journal, told.blobs, hasty(), sandboxes(told.blobs)).run(moment("2026-01-05 17:00"))
    finally:
        journal.close()
    (sent,) = (m for m in office.mails.values() if m.sender == "elena")
    (ref,) = sent.attachments
    assert ref.version == 1 and sent.at < moment("2026-01-05 16:00") and can("maya", "read", ref, office).allowed
    text = DocumentRenderer().render(
        told.blobs.get(office.files[ref.file].versions[0].blob.sha256), "", "Reconciliation.xlsx"
    )
    assert "850" not in text
    assert "this version has not been accepted" in publish_refusals(
        told.at("2026-01-05 16:00"), "daniel", told.book(1), "matter:riverbend-close"
    )
    assert [data for _, data in told.reader.events()] == told.log, "the parent is untouched"


def test_told_again_in_memory_one_at_a_time_and_stopped_at_every_row_it_is_the_same(
    told: Told, sandboxes: Sandboxes
) -> None:
    """RULE 1 and RULE 36: another store, another concurrency, twelve interruptions, new sandboxes: one log, byte for byte."""
    again = tell_in_memory(sandboxes, [moment(row) for row in ROWS], Settings(1, 1, 1))
    assert again == told.log
