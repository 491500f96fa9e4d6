"""An office on each mail carrier: its mails are there once, and a person's answer becomes part of the record."""

from __future__ import annotations

import mailbox
import smtplib
from collections.abc import Callable
from contextlib import ExitStack
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import httpx

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from services.carriers.desk import Carriers, Desk
from services.carriers.eml import EmlFolder
from services.carriers.mail import ids
from services.carriers.maildir.carrier import MaildirMail
from services.carriers.mailpit.carrier import MailpitMail
from services.carriers.mailpit.smtp import SmtpServer
from services.storage.blobs import FileBlobs
from services.storage.writer import StoredJournal
from simulator.carrying import Directory, MailCarrier, directory
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.records import Mail
from tests.carriers.mail.cast import Memory
from tests.carriers.standins.faults import Fault
from tests.carriers.standins.mailpit import Mailpit
from tests.orchestrator.support import JUNIPER

Make = Callable[[Directory, BlobStore], MailCarrier]
ANSWER = "answer-1@laptop.example"


class Place:
    """Juniper in a home of its own; its mail carrier is made anew for each run, as in another process."""

    def __init__(self, home: Path, make: Make | None) -> None:
        self.home, self.make, self.office = home, make, ""

    def run(self, days: int) -> str:
        """Run up to the end of a day; return the log's hash."""
        settings = read_settings({"OFFICETOWN_HOME": str(self.home), "OFFICETOWN_POLL_SECONDS": "0.05"})
        self._blobs = settings.blobs
        house = House(settings, carriers=self._connect if self.make else None)
        try:
            seed = None if self.office else 1
            result = run(house, Out(quiet=True), self.office or JUNIPER, RunOptions(days=days, seed=seed))
        finally:
            house.close()
        self.office = str(result["office"])
        return str(result["hash"])

    def _connect(self, stack: ExitStack, journal: StoredJournal, desk: Callable[[], Desk]) -> Carriers:
        assert self.make is not None
        blobs = FileBlobs(self._blobs)
        people = Directory(journal.office_id, "", "UTC", ())
        return Carriers(EmlFolder(self.home / "sent", lambda: desk().people, blobs), None, self.make(people, blobs), None,
                        {"mail": "m1"})  # fmt: skip

    def record(self) -> Office:
        """Return the office as its record has it."""
        house = House(read_settings({"OFFICETOWN_HOME": str(self.home)}))
        try:
            return house.office(house.row(self.office))
        finally:
            house.close()

    def people(self) -> Directory:
        """Return the office's accounts."""
        return directory(self.record(), self.office)


def asked(office: Office) -> tuple[Mail, str, str]:
    """Return a mail between the firm and a client, the client, and who of the firm it is with."""
    mail = min((m for m in office.mails.values() if m.external), key=lambda m: m.id)
    client = office.people[mail.sender].kind == "client"
    return (mail, mail.sender, mail.to[0]) if client else (mail, mail.to[0], mail.sender)


def answer(place: Place, port: int) -> tuple[Mail, str, str]:
    """A client's mail program answers a mail, with a file, by SMTP; return what it answered, the client and the staff."""
    mail, client, staff = asked(place.record())
    author, reader = place.people().of(client), place.people().of(staff)
    assert author is not None and reader is not None
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = author.address, reader.address, f"Re: {mail.subject}"
    message["Message-ID"] = f"<{ANSWER}>"
    message["In-Reply-To"] = f"<{ids.mail_id(place.office, mail.id)}>"
    message.set_content("See attached, grüße.")
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="../Extra.csv")
    with smtplib.SMTP("127.0.0.1", port, "laptop.example", 5) as session:
        session.send_message(message)
    return mail, client, staff


def came_in(place: Place, first: Mail, client: str, staff: str) -> Mail:
    """Check that the answer is in the record, once and whole; return it."""
    office = place.record()
    (came,) = [m for m in office.mails.values() if m.id.startswith(f"{client}.in")]
    assert (came.thread, came.to, came.body.text) == (first.thread, (staff,), "See attached, grüße.")
    assert [office.files[ref.file].path.rsplit("/", 1)[-1] for ref in came.attachments] == ["Extra.csv"]
    return came


def test_on_mailpit_every_mail_is_there_once_and_an_answer_comes_in_once(tmp_path: Path) -> None:
    with Mailpit() as server:
        smtp = SmtpServer("127.0.0.1", server.smtp_port)
        place = Place(tmp_path, lambda p, b: MailpitMail(smtp, server.url, httpx.Client(trust_env=False), p, b))
        place.run(1)
        first, client, staff = answer(place, server.smtp_port)
        server.faults.plan(Fault("status", match="/api", status=502))
        place.run(2)
        place.run(2)
        came = came_in(place, first, client, staff)
        names = [m.id for m in place.record().mails.values() if m.id != came.id]
        assert len(names) > 1
        assert [server.copies(ids.mail_id(place.office, name)) for name in names] == [1] * len(names)
        assert server.copies(ANSWER) == 1 and len(server.messages) == len(names) + 1


def test_in_maildirs_every_mail_is_there_once_and_an_answer_reaches_its_reader(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", lambda p, b: MaildirMail(tmp_path / "mail", p, b))
    place.run(1)
    between = MaildirMail(tmp_path / "mail", place.people(), Memory())
    first, client, staff = answer(place, between.listen())
    between.close()
    place.run(2)
    place.run(2)
    came = came_in(place, first, client, staff)
    people = place.people()
    for mail in place.record().mails.values():
        name = ANSWER if mail.id == came.id else ids.mail_id(place.office, mail.id)
        for person in {*mail.to, *mail.cc}:
            account = people.of(person)
            assert account is not None
            box = mailbox.Maildir(tmp_path / "mail/people" / account.username, create=False)
            assert [m["Message-ID"] for m in box].count(f"<{name}>") == 1


def test_the_log_is_the_same_with_and_without_mail(tmp_path: Path) -> None:
    """Issue 4: the run's hash is the same with or without carriers."""
    shown = Place(tmp_path / "a", lambda p, b: MaildirMail(tmp_path / "mail", p, b))
    assert shown.run(1) == Place(tmp_path / "b", None).run(1)
