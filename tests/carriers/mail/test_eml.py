"""Mail without a mail server: files that a person can open, once each."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from services.carriers.eml import EmlFolder
from simulator.carrying import BounceOut, MailCarrier
from simulator.errors import CarrierError
from tests.carriers.mail.cast import AT, PEOPLE, Memory, attached, mail


def test_a_mail_is_a_file_with_its_attachments_and_stays_as_it_is(tmp_path: Path) -> None:
    blobs = Memory()
    folder: MailCarrier = EmlFolder(tmp_path / "sent/juniper", lambda: PEOPLE, blobs)
    out = mail(to=("maya",), files=(attached(blobs, "Reconciliation.xlsx", b"PK\x03\x04"),))
    folder.send("mail:elena/3.1", out, "Dear Maya", False)
    (file,) = (tmp_path / "sent/juniper").iterdir()
    assert file.name == "elena_3.1.eml"
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert str(message["To"]) == "Mäyä Lindqvist <maya@riverbend.example>"
    assert [a.get_filename() for a in message.iter_attachments()] == ["Reconciliation.xlsx"]
    before = (file.read_bytes(), file.stat().st_ino)
    folder.send("mail:elena/3.1", out, "Changed", True)
    assert (file.read_bytes(), file.stat().st_ino) == before
    assert folder.poll("x").cursor == "x" and folder.poll("x").arrivals == ()
    folder.provision(PEOPLE)
    folder.bounce(BounceOut("maya", "k", "no", AT))
    folder.close()
    assert len(list((tmp_path / "sent/juniper").iterdir())) == 1


def test_no_name_leaves_the_folder(tmp_path: Path) -> None:
    folder = EmlFolder(tmp_path / "sent", lambda: PEOPLE, Memory())
    folder.send("k", mail("../../evil"), "x", False)
    folder.send("k", mail("a" * 500), "x", False)
    assert sorted(p.name for p in (tmp_path / "sent").iterdir()) == [".._.._evil.eml", "a" * 200 + ".eml"]
    assert [p.name for p in tmp_path.iterdir()] == ["sent"]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "sent").write_text("no folder")
    with pytest.raises(CarrierError, match="cannot be written"):
        EmlFolder(tmp_path / "sent", lambda: PEOPLE, Memory()).send("k", mail(), "x", False)
