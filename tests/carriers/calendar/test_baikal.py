"""Baïkal without its wizard. The schema here is written after Baïkal's own: it was not run with it here."""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import yaml

from services.carriers.caldav import baikal
from services.carriers.caldav.baikal import Setup, admit, provision, version_in
from simulator.carrying import Account, Directory
from simulator.errors import CarrierError, UsageError
from tests.carriers.calendar.cast import PEOPLE, password_of

SCHEMA = """
CREATE TABLE calendarobjects (id integer primary key asc NOT NULL, calendardata blob, uri text, calendarid integer NOT NULL);
CREATE TABLE calendars (id integer primary key asc NOT NULL, synctoken integer DEFAULT 1 NOT NULL, components text NOT NULL);
CREATE TABLE calendarinstances (id integer primary key asc NOT NULL, calendarid integer NOT NULL, principaluri text NULL,
    access integer NOT NULL DEFAULT '1', displayname text, uri text NOT NULL, description text, calendarorder integer,
    calendarcolor text, timezone text, transparent bool, share_href text, share_displayname text,
    share_invitestatus integer DEFAULT '2', UNIQUE (principaluri, uri), UNIQUE (calendarid, principaluri),
    UNIQUE (calendarid, share_href));
CREATE TABLE principals (id INTEGER PRIMARY KEY ASC NOT NULL, uri TEXT NOT NULL, email TEXT, displayname TEXT, UNIQUE(uri));
CREATE TABLE users (id integer primary key asc NOT NULL, username TEXT NOT NULL, digesta1 TEXT NOT NULL, UNIQUE(username));
"""
DISTRIB = '<?php\ndefine("BAIKAL_VERSION", "0.10.1");\ndefine("BAIKAL_HOMEPAGE", "https://sabre.io/baikal/");\n'


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "db.sql"
    path.write_text(SCHEMA)
    return path


def set_up(tmp_path: Path, schema: Path, people: Directory = PEOPLE, password: str = "p") -> tuple[str, ...]:
    root = tmp_path / "root"
    return provision(root, schema, "0.10.1", people, password_of, admin_password=password, secret="s")


def rows(tmp_path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(tmp_path / "root" / "Specific" / "db" / "db.sqlite")) as connection:
        return connection.execute(query).fetchall()


def test_the_settings_spare_the_wizard(tmp_path: Path, schema: Path) -> None:
    set_up(tmp_path, schema)
    path = tmp_path / "root" / "config" / "baikal.yaml"
    settings = yaml.safe_load(path.read_text())
    assert settings["system"]["configured_version"] == "0.10.1"
    assert settings["system"]["admin_passwordhash"] == hashlib.sha256(b"admin:BaikalDAV:p").hexdigest()
    assert settings["system"]["invite_from"] == "" and settings["system"]["dav_auth_type"] == "Basic"
    assert settings["database"]["backend"] == "sqlite"
    assert settings["database"]["sqlite_file"] == "/var/www/baikal/Specific/db/db.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_staff_get_accounts_and_one_calendar_each(tmp_path: Path, schema: Path) -> None:
    assert set_up(tmp_path, schema) == ("elena", "maya", "tom")
    digest = hashlib.md5(b"tom:BaikalDAV:secret of tom").hexdigest()  # noqa: S324
    assert (("tom", digest)) in rows(tmp_path, "SELECT username, digesta1 FROM users")
    assert ("principals/tom", "Tom@juniper.example", 'Tom "T", Jr; QA') in rows(
        tmp_path, "SELECT uri, email, displayname FROM principals"
    )
    instances = rows(
        tmp_path,
        "SELECT principaluri, uri, access, timezone, transparent, share_invitestatus, synctoken, components"
        " FROM calendarinstances JOIN calendars ON calendars.id = calendarid ORDER BY principaluri",
    )
    assert instances == [
        (f"principals/{u}", "default", 1, None, 0, 2, 1, "VEVENT,VTODO") for u in ("elena", "maya", "tom")
    ]


@pytest.mark.parametrize("count", [12, 100])
def test_again_makes_what_is_missing_and_changes_nothing_else(tmp_path: Path, schema: Path, count: int) -> None:
    people = Directory(
        "o", "O", "UTC", tuple(Account(f"p{n}", f"P{n}", f"p{n}", f"p{n}@x.example") for n in range(count))
    )
    set_up(tmp_path, schema, msgspec.structs.replace(people, accounts=people.accounts[: count // 2]))
    kept = (tmp_path / "root" / "config" / "baikal.yaml").read_text()
    assert len(set_up(tmp_path, schema, people, "another")) == count - count // 2
    assert set_up(tmp_path, schema, people) == ()
    for table in ("users", "principals", "calendars", "calendarinstances"):
        assert rows(tmp_path, f"SELECT count(*) FROM {table}") == [(count,)]
    assert (tmp_path / "root" / "config" / "baikal.yaml").read_text() == kept, "its encryption key stays what it was"


def test_an_account_that_was_left_half_made_is_finished(tmp_path: Path, schema: Path) -> None:
    set_up(tmp_path, schema)
    with closing(sqlite3.connect(tmp_path / "root" / "Specific" / "db" / "db.sqlite")) as connection, connection:
        connection.execute("DELETE FROM calendarinstances WHERE principaluri = 'principals/tom'")
    assert set_up(tmp_path, schema) == ("tom",)


def test_who_joins_later_is_admitted_while_it_runs(tmp_path: Path, schema: Path) -> None:
    with pytest.raises(CarrierError, match="no database"):
        admit(tmp_path / "root", PEOPLE, password_of)
    set_up(tmp_path, schema, msgspec.structs.replace(PEOPLE, accounts=PEOPLE.accounts[:2]))
    assert admit(tmp_path / "root", PEOPLE, password_of) == ("maya", "tom")
    assert admit(tmp_path / "root", PEOPLE, password_of) == ()


def test_a_database_in_use_is_waited_for_and_refuses_no_event(
    tmp_path: Path, schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that is not the event's own must not be a refusal of the event: the outbox would drop it."""
    set_up(tmp_path, schema, msgspec.structs.replace(PEOPLE, accounts=PEOPLE.accounts[:2]))
    monkeypatch.setattr(baikal, "_LOCKED", 0.01)
    with closing(sqlite3.connect(tmp_path / "root" / "Specific" / "db" / "db.sqlite")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CarrierError, match="busy"):
            admit(tmp_path / "root", PEOPLE, password_of)
        other.rollback()
    assert admit(tmp_path / "root", PEOPLE, password_of) == ("maya", "tom")


def test_what_is_wrong_is_said(tmp_path: Path, schema: Path) -> None:
    with pytest.raises(UsageError, match="db.sql"):
        set_up(tmp_path, tmp_path / "nowhere" / "db.sql")
    with pytest.raises(UsageError, match="administrator"):
        set_up(tmp_path, schema, password="")
    (tmp_path / "root" / "Specific" / "db" / "db.sqlite").write_bytes(b"something else altogether" * 100)
    with pytest.raises(CarrierError, match="not Baïkal's"):
        set_up(tmp_path, schema)
    (tmp_path / "Distrib.php").write_text("<?php")
    for path in (tmp_path / "Distrib.php", tmp_path / "none.php"):
        with pytest.raises(UsageError, match="Distrib.php"):
            version_in(path)


def test_the_command_takes_its_secrets_from_standard_input(
    tmp_path: Path, schema: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Distrib.php").write_text(DISTRIB)
    setup = Setup(PEOPLE, {a.username: password_of(a.username) for a in PEOPLE.accounts}, "p", "s")

    def run(data: bytes) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        arguments = [str(tmp_path / "root"), "--schema", str(schema), "--distrib", str(tmp_path / "Distrib.php"),
                     "--owner", f"{os.getuid()}:{os.getgid()}"]  # fmt: skip
        return baikal.main(arguments)

    assert run(msgspec.json.encode(setup)) == 0
    assert capsys.readouterr().out == '{"made":["elena","maya","tom"]}\n'
    assert run(b"{}") == 2
    assert run(msgspec.json.encode(msgspec.structs.replace(setup, passwords={}))) == 2
    assert run(msgspec.json.encode(msgspec.structs.replace(setup, admin_password=""))) == 2
    assert "secret of" not in capsys.readouterr().err
