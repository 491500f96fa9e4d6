"""People take part with programs of other makers: chat by `rocketchat-api`, calendars by `caldav`, mail by `smtplib`."""

from __future__ import annotations

import json
import os
import smtplib
import subprocess
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from simulator.events import ActivationStarted, MessagePosted
from tests.carriers.town.town import Town

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".clients" / "bin" / "python"
CALENDAR = ROOT / "tests" / "carriers" / "calendar" / "outside.py"


def program(script: Path, *arguments: str, given: object = None) -> str:
    """Run a program of the independent clients; return what it printed."""
    if not PYTHON.exists():
        if os.environ.get("OFFICETOWN_TEST_CLIENTS"):
            pytest.fail("the independent clients are missing: run `make clients`", pytrace=False)
        pytest.skip("the independent clients are not installed: run `make clients`")
    done = subprocess.run(
        [str(PYTHON), str(script), *arguments], input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "*", "no_proxy": "*"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_a_question_asked_in_chat_gets_an_answer_in_chat(town: Town) -> None:
    town.run(1)
    chat = (town.chat.url, "daniel", town.password("daniel"))
    asked = program(Path(__file__).with_name("colleague.py"), *chat, "aisha", "Aisha, where do things stand?")
    town.run(2)
    (question,) = [p.message for p in town.events(MessagePosted) if p.message.id.startswith("daniel.in")]
    (answer,) = [p.message for p in town.events(MessagePosted) if p.message.thread == question.id]
    assert answer.sender == "aisha"
    shown = next(m for m in town.chat.state()["messages"] if m.get("customFields", {}).get("event") == answer.id)
    assert shown["tmid"] == asked and shown["u"]["username"] == "aisha" and shown["msg"].strip()
    town.agrees()


def test_an_event_from_a_calendar_program_wakes_its_owner_at_its_simulated_time(town: Town) -> None:
    town.run(1)
    office = town.record()
    zone = ZoneInfo(office.calendar.zone)
    tomorrow = datetime.fromtimestamp(office.opened_at, zone).date() + timedelta(days=1)
    begins = datetime(tomorrow.year, tomorrow.month, tomorrow.day, 10, 20, tzinfo=zone)
    step = {
        "do": "new", "uid": "call-the-bank@elsewhere", "summary": "Call the bank", "start": begins.isoformat(),
        "end": (begins + timedelta(minutes=30)).isoformat(),
    }  # fmt: skip
    where = {"url": town.radicale.url, "user": "daniel", "password": town.password("daniel")}
    program(CALENDAR, given={**where, "calendar": f"office-{tomorrow.year}", "steps": [step]})
    town.run(2)
    (entry,) = [e for e in town.record().entries.values() if e.id.startswith("daniel.in")]
    assert (entry.title, entry.start, entry.minutes) == ("Call the bank", int(begins.timestamp()), 30)
    woken = [r.running for r in town.events(ActivationStarted) if any(s.ref == entry.id for s in r.running.stimuli)]
    assert [r.actor for r in woken] == ["daniel"]
    assert entry.start <= woken[0].at < entry.start + 3_600
    town.agrees()


def test_a_client_answers_by_mail_with_an_attachment_and_is_answered(town: Town) -> None:
    town.run(2)
    office = town.record()
    people = {a.person: a for a in town.people().accounts}
    sent = next(
        m
        for m in sorted(office.mails.values(), key=lambda m: m.id)
        if m.external and m.sender in people and people[m.sender].staff
    )
    client = next(p for p in sent.to if not people[p].staff)
    shown = next(m for m in town.mail.state()["messages"] if sent.id.replace(".", "-2E") in m["MessageID"])
    letter = EmailMessage()
    letter["From"], letter["To"] = people[client].address, people[sent.sender].address
    letter["Subject"], letter["Message-ID"] = f"Re: {sent.subject}", "<answer-1@elsewhere.example>"
    letter["In-Reply-To"] = f"<{shown['MessageID']}>"
    letter.set_content("Thank you. The missing page is attached.")
    letter.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="Page 7.csv")
    with smtplib.SMTP("127.0.0.1", town.mail.smtp_port, "a-laptop") as smtp:
        smtp.send_message(letter)
    town.run(3)
    (mine,) = [m for m in town.record().mails.values() if m.id.startswith(f"{client}.in")]
    assert (mine.thread, mine.to, len(mine.attachments)) == (sent.thread, (sent.sender,), 1)
    file = town.record().files[mine.attachments[0].file]
    assert file.path.endswith("Page 7.csv") and file.versions[0].level == "confidential"
    woken = [r.running for r in town.events(ActivationStarted) if any(s.ref == mine.id for s in r.running.stimuli)]
    assert [r.actor for r in woken] == [sent.sender]
    town.agrees(foreign_mails=1)
