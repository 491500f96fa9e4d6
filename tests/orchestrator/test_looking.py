"""What the commands that look are made of: moments, names, chains of causes, and what is laid down outside."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.compose import House, end_of
from orchestrator.moments import instant, office_on, revision_at
from orchestrator.naming import find_file
from orchestrator.output import Out
from simulator.businesstime import calendar_for
from simulator.errors import UnknownReference, UsageError
from simulator.office import Office
from simulator.view_paths import display_path
from tests.orchestrator.support import Desk, child


@pytest.fixture
def house(worked: Desk) -> Iterator[House]:
    """The house that has worked."""
    house = worked.house()
    yield house
    house.close()


@pytest.fixture
def office(house: House) -> Office:
    """Juniper after three days."""
    return house.office(house.row("Juniper"))


def test_a_date_is_its_end_and_a_time_is_in_the_offices_own_zone(office: Office) -> None:
    monday = calendar_for(office.calendar).at("2026-01-05", 0)
    assert instant(office, "2026-01-05") == monday + 24 * 3600 - 1
    assert instant(office, "2026-01-05 11:40") == instant(office, "2026-01-05T11:40") == monday + (11 * 60 + 40) * 60
    summer = calendar_for(office.calendar).at("2026-07-01", 0)
    assert instant(office, "2026-07-01 00:00") == summer
    assert (summer - monday) % (24 * 3600) == 23 * 3600, "London keeps summer time"
    for wrong in ("", "5 January", "2026-02-30", "2026-01-05 25:00", "-3"):
        with pytest.raises(UsageError):
            instant(office, wrong)


def test_a_moments_revision_is_the_last_event_at_or_before_it(house: House, office: Office) -> None:
    log = house.offices.read(house.row("Juniper").id)
    for moment in ("2026-01-05 09:54", "2026-01-05 10:13", "2026-01-06"):
        then = office_on(log, moment)
        assert then.now <= instant(office, moment)
        if then.revision < log.head:
            assert office_on(log, str(then.revision + 1)).now > instant(office, moment)
    assert revision_at(log, "2031-01-01") == log.head
    assert office_on(log, "").revision == log.head


def test_days_are_counted_from_the_first_and_end_at_midnight(office: Office) -> None:
    calendar = calendar_for(office.calendar)
    for days in (1, 3, 90, 181):
        last = calendar.local(end_of(office, days))
        assert (last.hour, last.minute, last.second) == (23, 59, 59)
        assert (last.date() - calendar.local(office.opened_at).date()).days == days - 1


def test_every_file_is_found_by_its_id_by_space_and_path_and_as_people_see_it(office: Office) -> None:
    shown: dict[str, int] = {}
    for file in office.files.values():
        path = display_path(office, "", file)
        shown[path] = shown.get(path, 0) + 1
    for file in office.files.values():
        assert find_file(office, file.id).file == file.id
        assert find_file(office, f"{file.space}/{file.path}").file == file.id
        assert find_file(office, f"{file.space}/{file.path}@1").version == 1
        path = display_path(office, "", file)
        if shown[path] == 1:
            assert find_file(office, path).file == file.id


@given(st.text(max_size=40))
def test_no_name_of_a_file_is_worse_than_unknown(text: str) -> None:
    with pytest.raises(UnknownReference):
        find_file(Office(), text)


def test_why_takes_a_revision_as_log_shows_it(worked: Desk) -> None:
    line = next(line for line in worked("log", "Juniper").out.splitlines() if "mails Maya Lindqvist" in line)
    revision = line.rpartition("[")[2].rstrip("]")
    chain = worked.json("why", "Juniper", revision)["chain"]
    assert chain[0]["revision"] == int(revision)
    assert any("Maya Lindqvist mails" in step["text"] for step in chain)
    assert worked("why", "Juniper", "999999").code == 2


def test_log_raw_is_the_stored_log(worked: Desk, house: House) -> None:
    stored = "".join(data.decode() + "\n" for _, data in house.offices.read(house.row("Juniper").id).events())
    assert child(worked.home, "log", "Juniper", "--raw").out == stored


def test_mail_to_the_outside_is_laid_down_once_as_a_file_and_a_fork_sends_none_again(copied: Desk) -> None:
    house = copied.house()
    row = house.row("Juniper")
    office = house.office(row)
    house.close()
    outside = [m for m in office.mails.values() if any(office.people[p].kind == "client" for p in (*m.to, *m.cc))]
    folder = copied.home / "sent" / row.id
    laid = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(laid) == len(outside) > 0
    one = email.message_from_bytes(next(iter(laid.values())), policy=email.policy.default)
    assert one["From"] and one["To"] and one["Subject"] and one["Date"]
    copied.json("run", "Juniper", "--days", "3")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == laid
    forked = copied.json("fork", "Juniper", "--at", "2026-01-07")["office"]
    copied.json("run", forked, "--days", "3")
    assert not (copied.home / "sent" / forked).exists()


def test_what_is_said_of_an_office_holds_no_control_characters_and_no_markup(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = Out()
    out.say("red \x1b[31m and [bold]bold[/bold]")
    out.table("t", ["a"], [["[link=x]\x1b]8;;y[/link]"]])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bold]bold[/bold]" in said and "[link=x]" in said


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/mnt/company/" + "a long folder/" * 30
    Out().table("", ["path", "why"], [[path, "its owner"]])
    assert path in capsys.readouterr().out
