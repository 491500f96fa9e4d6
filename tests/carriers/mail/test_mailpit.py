"""Mail over Mailpit: one copy whatever happens, nothing lost, and only what people wrote comes in.

Held against a stand-in (tests/carriers/standins/mailpit.py), never against the real server.
"""

from __future__ import annotations

import json
import smtplib
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.carriers.mail import ids
from services.carriers.mail.parse import read_letter
from services.carriers.mailpit.carrier import MailpitMail
from services.carriers.mailpit.checks import live_check, ready_check
from services.carriers.mailpit.smtp import SmtpServer
from simulator.arriving import MailArrived
from simulator.carrying import Account, BounceOut, Directory, MailCarrier
from simulator.errors import CarrierError, WorkFailed
from tests.carriers.mail.cast import AT, PEOPLE, Memory, attached, letter, mail
from tests.carriers.standins.faults import Fault
from tests.carriers.standins.mailpit import Mailpit

OURS = ids.mail_id(PEOPLE.office, "elena/3.1")


@pytest.fixture
def server() -> Iterator[Mailpit]:
    with Mailpit() as mailpit:
        yield mailpit


def carrier(
    server: Mailpit, blobs: Memory | None = None, people: Directory = PEOPLE, timeout: float = 5.0
) -> MailpitMail:
    """Return a new carrier, as after a restart: it remembers nothing."""
    smtp = SmtpServer("127.0.0.1", server.smtp_port, timeout)
    return MailpitMail(smtp, server.url, httpx.Client(timeout=timeout), people, blobs or Memory())


@pytest.fixture
def mails(server: Mailpit) -> Iterator[MailpitMail]:
    made = carrier(server)
    yield made
    made.close()


def write(server: Mailpit, raw: bytes, sender: str = "daniel@juniper.example", to: tuple[str, ...] = ()) -> None:
    """A person's mail program hands a mail in."""
    with smtplib.SMTP("127.0.0.1", server.smtp_port, "laptop.example", 5) as session:
        session.sendmail(sender, to or ("elena@juniper.example",), raw)


def all_polled(mails: MailpitMail, cursor: str = "") -> tuple[list[MailArrived], list[str], str]:
    """Poll until nothing more comes; return arrivals, remarks and the last cursor."""
    arrivals: list[MailArrived] = []
    remarks: list[str] = []
    for _ in range(50):
        polled = mails.poll(cursor)
        arrivals.extend(a for a in polled.arrivals if isinstance(a, MailArrived))
        remarks.extend(polled.remarks)
        if polled.cursor == cursor:
            return arrivals, remarks, cursor
        cursor = polled.cursor
    raise AssertionError("polling does not come to rest")


# -- out --------------------------------------------------------------------------------------------------------------


def test_a_mail_arrives_with_its_files_and_is_readable_there(server: Mailpit) -> None:
    blobs = Memory()
    mails: MailCarrier = carrier(server, blobs)
    out = mail(to=("daniel", "maya"), cc=("quinn",), files=(attached(blobs, "Reconciliation.xlsx", b"PK\x03\x04"),))
    mails.send("srv/mail:elena/3.1", out, "Dear all,\n.\nelena", False)
    listed = httpx.get(f"{server.url}/api/v1/messages").json()
    assert listed["total"] == 1
    (message,) = listed["messages"]
    assert message["MessageID"] == OURS
    assert message["From"] == {"Name": "Elena Ruiz, CPA", "Address": "elena@juniper.example"}
    assert [a["Name"] for a in message["To"]] == ["Daniel Okafor", "Mäyä Lindqvist"]
    assert message["Bcc"] == []
    assert message["Created"] == "2026-02-02T02:40:00.000Z"
    detail = httpx.get(f"{server.url}/api/v1/message/{message['ID']}").json()
    assert [a["FileName"] for a in detail["Attachments"]] == ["Reconciliation.xlsx"]
    raw = httpx.get(f"{server.url}/api/v1/message/{message['ID']}/raw").content
    assert read_letter(raw).text == "Dear all,\n.\nelena"
    mails.close()


def test_the_same_mail_twice_is_one_copy(server: Mailpit, mails: MailpitMail) -> None:
    mails.send("k", mail(), "Hello", False)
    mails.send("k", mail(), "Hello", True)
    assert server.copies(OURS) == 1


def test_another_mail_whose_message_id_only_looks_alike_is_not_taken_for_it(
    server: Mailpit, mails: MailpitMail
) -> None:
    """Mailpit matches parts of words: what comes back is compared exactly."""
    write(server, letter(message_id=f"<x{OURS}>"))
    mails.send("k", mail(), "Hello", True)
    assert server.copies(OURS) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", match="smtp:MAIL", status=421, body="4.3.2 closing"),
        Fault("status", match="smtp:MAIL", status=451, body="4.3.0 local error"),
        Fault("status", match="smtp:RCPT", status=450, body="4.2.0 busy"),
        Fault("status", match="smtp:DATA", status=451, body="4.3.5 unable"),
        Fault("status", match="smtp:DATA", status=500, body="what?"),
        Fault("status", match="smtp:MAIL", status=530, body="5.7.0 Authentication required"),
        Fault("drop", match="smtp:MAIL"),
        Fault("drop", match="smtp:RCPT"),
        Fault("drop", match="smtp:DATA"),
        Fault("drop_after", match="smtp:DATA"),
    ],
    ids=lambda f: f"{f.kind} {f.match} {f.status}",
)
def test_after_any_fault_the_mail_waits_and_is_one_copy_once_retried(
    server: Mailpit, mails: MailpitMail, fault: Fault
) -> None:
    """RELIABILITY, "Commit and recovery" 8."""
    server.faults.plan(fault)
    with pytest.raises(CarrierError, match=r"^The mail server at 127\.0\.0\.1:\d+ "):
        mails.send("k", mail(), "Hello", False)
    mails.send("k", mail(), "Hello", True)
    assert server.copies(OURS) == 1


def test_a_server_too_slow_to_answer_ignores_the_second_of_one_name(server: Mailpit) -> None:
    """While it is still busy with the first one it cannot be asked for it: MP_IGNORE_DUPLICATE_IDS settles that."""
    server.ignore_duplicates = True
    hasty, patient = carrier(server, timeout=1), carrier(server)
    server.faults.plan(Fault("slow", match="smtp:DATA", seconds=2))
    with pytest.raises(CarrierError, match="timed out"):
        hasty.send("k", mail(), "Hello", False)
    patient.send("k", mail(), "Hello", True)
    assert server.ignored.wait(60)
    assert server.copies(OURS) == 1
    hasty.close()
    patient.close()


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", match="/api", status=429, headers={"Retry-After": "30"}),
        Fault("status", match="/api", status=429, headers={"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}),
        Fault("status", match="/api", status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Fault("status", match="/api", status=500),
        Fault("status", match="/api", status=502, body="<html><h1>Bad Gateway</h1></html>"),
        Fault("status", match="/api", status=200, body="<html>log in</html>"),
        Fault("status", match="/api", status=200, body='{"messages": 7}'),
        Fault("status", match="/api", status=200, body="[" * 100_000),
        Fault("status", match="/api", status=302),
        Fault("drop", match="/api"),
        Fault("drop_after", match="/api"),
    ],
    ids=lambda f: f"{f.kind} {f.status} {f.body[:12]}",
)
def test_where_it_cannot_be_looked_up_nothing_is_sent_twice_and_nothing_read_is_lost(
    server: Mailpit, mails: MailpitMail, fault: Fault
) -> None:
    mails.send("k", mail(), "Hello", False)
    write(server, letter())
    for attempt in (lambda: mails.send("k", mail(), "Hello", True), lambda: mails.poll("")):
        server.faults.plan(fault.__class__(**vars(fault)))
        with pytest.raises(CarrierError, match=r"^Mailpit at 127\.0\.0\.1:\d+ ") as told:
            attempt()
        assert "\n" not in str(told.value)
    mails.send("k", mail(), "Hello", True)
    assert server.copies(OURS) == 1
    assert [a.key for a in all_polled(mails)[0]] == ["mail:abc@laptop.example"]


def test_a_server_that_is_down_is_named_and_a_restart_goes_on(server: Mailpit, mails: MailpitMail) -> None:
    server.stop()
    with pytest.raises(CarrierError, match=f"127.0.0.1:{server.smtp_port}"):
        mails.send("k", mail(), "Hello", False)
    with pytest.raises(CarrierError, match="is it running"):
        mails.poll("")
    server.start()
    mails.send("k", mail(), "Hello", True)
    assert server.copies(OURS) == 1


def test_an_api_too_slow_to_answer_is_said(server: Mailpit) -> None:
    hasty = carrier(server, timeout=0.1)
    server.faults.plan(Fault("slow", match="/api", seconds=0.3))
    with pytest.raises(CarrierError, match="did not answer in time"):
        hasty.poll("")
    hasty.close()


def test_recipients_that_are_refused_are_named_and_the_others_get_the_mail(server: Mailpit, mails: MailpitMail) -> None:
    server.faults.plan(Fault("status", match="smtp:RCPT maya", status=550, body="5.1.0 mailbox unavailable"))
    with pytest.raises(
        WorkFailed, match=r"refuses maya <maya@riverbend\.example> \(550 .*the other recipients have the mail"
    ):
        mails.send("k", mail(to=("daniel", "maya")), "Hello", False)
    assert server.copies(OURS) == 1


def test_a_mail_that_is_refused_is_refused_for_good(server: Mailpit, mails: MailpitMail) -> None:
    server.faults.plan(Fault("status", match="smtp:RCPT", status=550, body="5.1.0 no"))
    with pytest.raises(WorkFailed, match="refuses every recipient: daniel"):
        mails.send("k", mail(), "Hello", False)
    server.faults.plan(Fault("status", match="smtp:DATA", status=552, body="5.3.4 too big"))
    with pytest.raises(WorkFailed, match="552"):
        mails.send("k", mail(), "Hello", False)
    assert server.copies(OURS) == 0


def test_a_mail_to_more_than_a_hundred_is_one_copy_that_names_them_all(server: Mailpit) -> None:
    """SERVICES: at most 100 recipients a message by default, one stored copy for everybody."""
    crowd = Directory(
        "o", "O", "UTC", tuple(Account(f"p{n}", f"Person {n}", f"p{n}", f"p{n}@o.example") for n in range(130))
    )
    mails = carrier(server, people=crowd)
    out = mail(sender="p0", to=tuple(f"p{n}" for n in range(1, 130)))
    mails.send("k", out, "All hands", False)
    mails.close()
    (message,) = server.state()["messages"]
    assert len(message["To"]) == 129


def test_what_came_in_here_is_not_sent_back(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter())
    mails.send(
        "k", mail("daniel/0.1", sender="daniel", to=("elena",), origin="mail:abc@laptop.example"), "Done.", False
    )
    assert len(server.messages) == 1


def test_what_came_in_elsewhere_is_shown_here_too_under_the_name_it_has(server: Mailpit, mails: MailpitMail) -> None:
    """An office that changes its mail server carries everything over."""
    out = mail("daniel/0.1", sender="daniel", to=("elena",), origin="mail:abc@laptop.example")
    mails.send("k", out, "Done.", False)
    mails.send("k", out, "Done.", True)
    assert server.copies("abc@laptop.example") == 1
    assert all_polled(mails)[:2] == ([], [])


def test_a_mail_with_an_odd_message_id_is_known_again(server: Mailpit, mails: MailpitMail) -> None:
    raw = letter(message_id="").replace(b"Subject:", b"Message-ID: <not a (good) name@x>\r\nSubject:")
    write(server, raw)
    (arrival,) = all_polled(mails)[0]
    mails.send("k", mail("daniel/0.1", sender="daniel", to=("elena",), origin=arrival.key), "Done.", False)
    assert len(server.messages) == 1


def test_a_bounce_arrives_once_and_an_answer_to_it_answers_nothing(server: Mailpit, mails: MailpitMail) -> None:
    bounce = BounceOut("daniel", "mail:abc@laptop.example", "there is no such colleague", AT)
    mails.bounce(bounce)
    mails.bounce(bounce)
    (message,) = server.state()["messages"]
    assert message["Subject"] == "Not done: there is no such colleague"
    assert [a["Address"] for a in message["To"]] == ["daniel@juniper.example"]
    assert all_polled(mails)[:2] == ([], [])
    write(server, letter(In_Reply_To=f"<{message['MessageID']}>"))
    assert [a.in_reply_to for a in all_polled(mails)[0]] == [""]


# -- in ---------------------------------------------------------------------------------------------------------------


def test_only_what_people_wrote_comes_in_and_once(server: Mailpit, mails: MailpitMail) -> None:
    mails.send("k", mail(to=("daniel",)), "Hello", False)
    write(server, letter(In_Reply_To=f"<{OURS}>", References=f"<{OURS}>"))
    arrivals, remarks, cursor = all_polled(mails)
    assert remarks == []
    assert [(a.key, a.person, a.in_reply_to) for a in arrivals] == [("mail:abc@laptop.example", "daniel", "elena/3.1")]
    assert all_polled(mails, cursor)[:2] == ([], [])


@pytest.mark.parametrize(
    "date",
    [
        "Mon, 01 Jan 1990 00:00:00 +0000",
        "Sun, 29 Nov 2026 12:00:00 +0000",
        "Fri, 01 Jan 2100 00:00:00 +0000",
        "gibberish",
        "",
    ],
)
@pytest.mark.parametrize("by_date", [True, False])
def test_a_mail_is_new_whatever_its_date_says(date: str, by_date: bool) -> None:
    """SERVICES 1: Mailpit may order by `Date`, which is simulated time for our mails and anything for a person's."""
    with Mailpit(by_date=by_date) as server:
        mails = carrier(server)
        mails.send("k", mail(), "Hello", False)
        write(server, letter(message_id="<first@l.example>"))
        _, _, cursor = all_polled(mails)
        write(server, letter(message_id="<second@l.example>", date=date))
        arrivals, _, _ = all_polled(mails, cursor)
        assert [a.key for a in arrivals] == ["mail:second@l.example"]
        mails.close()


def test_what_was_read_but_not_kept_by_the_office_is_read_again(server: Mailpit, mails: MailpitMail) -> None:
    """A crash between poll and commit: the cursor was not kept, so nothing may have been marked as taken."""
    write(server, letter())
    assert len(mails.poll("").arrivals) == 1
    restarted = carrier(server)
    again = restarted.poll("")
    assert [a.key for a in again.arrivals] == ["mail:abc@laptop.example"]
    assert restarted.poll(again.cursor).arrivals == ()
    restarted.close()


@pytest.mark.parametrize(
    "cursor", ["", "garbage", "[]", '{"brought": 7}', '{"else": ["x"]}', '{"brought": ["no such id"]}']
)
def test_a_lost_or_broken_cursor_brings_nothing_of_ours_and_nothing_twice(
    server: Mailpit, mails: MailpitMail, cursor: str
) -> None:
    mails.send("k", mail(), "Hello", False)
    write(server, letter())
    all_polled(mails)
    assert mails.poll(cursor).arrivals == ()


def test_tags_that_people_set_stay(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter(X_Tags="urgent"))
    all_polled(mails)
    assert server.state()["messages"][0]["Tags"] == ["officetown-juniper0feed", "urgent"]


def test_a_server_without_x_tags_is_read_as_well(server: Mailpit) -> None:
    server.x_tags = False
    mails = carrier(server)
    mails.send("k", mail(), "Hello", False)
    write(server, letter())
    arrivals, remarks, _ = all_polled(mails)
    assert [a.key for a in arrivals] == ["mail:abc@laptop.example"] and remarks == []
    assert len(server.asked("/raw")) == 1, "our own mails are known by their names and not read"
    mails.close()


def test_a_server_that_keeps_no_tags_brings_nothing_twice(server: Mailpit) -> None:
    server.keeps_tags = server.x_tags = False
    mails = carrier(server)
    keys: list[str] = []
    cursor = ""
    for n in range(6):
        write(server, letter(message_id=f"<m{n}@l.example>"))
        polled = mails.poll(cursor)
        keys.extend(a.key for a in polled.arrivals)
        cursor = polled.cursor
    assert keys == [f"mail:m{n}@l.example" for n in range(6)]
    mails.close()


def test_two_offices_on_one_server_take_their_own(server: Mailpit) -> None:
    other = Directory("oak", "Oakridge", "UTC", (Account("zoe", "Zoe", "zoe", "zoe@oak.example"),))
    juniper, oak = carrier(server), carrier(server, people=other)
    juniper.send("k", mail(), "Hello", False)
    write(server, letter())
    write(
        server,
        letter("zoe@oak.example", "zoe@oak.example", message_id="<z@l.example>"),
        "zoe@oak.example",
        ("zoe@oak.example",),
    )
    assert [a.person for a in all_polled(oak)[0]] == ["zoe"]
    assert [a.person for a in all_polled(juniper)[0]] == ["daniel"]
    assert all_polled(oak)[:2] == all_polled(juniper)[:2] == ([], [])
    juniper.close()
    oak.close()


def test_strangers_broken_and_giant_mails_are_remarks_once(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter("who@x.example", message_id="<s@x>"), "who@x.example")
    write(server, letter(to="nobody@x.example", message_id="<n@x>"), to=("nobody@x.example",))
    write(server, letter(message_id="<giant@x>") + b"x" * (26 * 1024 * 1024))
    write(server, b"garbage \x00\xff without a header")
    arrivals, remarks, cursor = all_polled(mails)
    assert arrivals == []
    assert sorted(remarks) == [
        "The mail '(no subject)' was not let in: it does not say from whom it is.",
        "The mail 'Re: December' by daniel does not reach nobody@x.example: nobody here has that address.",
        "The mail 'Re: December' by daniel was not let in: it goes to nobody of this office.",
        "The mail 'Re: December' by daniel was not let in: it is larger than 25 MB.",
        "The mail 'Re: December' was not let in: nobody here has the address who@x.example.",
    ]
    assert all_polled(mails, cursor)[:2] == ([], [])


def test_a_mail_deleted_while_it_is_read_is_no_error(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter())
    server.faults.plan(Fault("status", match="/raw", status=404, body="404 page not found"))
    assert mails.poll("").arrivals == ()


def test_two_mails_under_one_name_are_said(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter())
    write(server, letter())
    write(server, letter(text="Something else."))
    arrivals, remarks, _ = all_polled(mails)
    assert [a.text for a in arrivals] == ["Done."]
    assert remarks == ["Two mails by daniel have one Message-ID: only the first was let in."]


def test_ten_thousand_mails_are_no_burden_and_the_cursor_stays_small(server: Mailpit, mails: MailpitMail) -> None:
    raw = b"From: elena@juniper.example\r\nMessage-ID: <%s>\r\nDate: Mon, 2 Feb 2026 09:00:00 -0500\r\nX-Tags: %s\r\n\r\nx"
    for n in range(10_000):
        name = ids.mail_id(PEOPLE.office, f"elena/{n}.1").encode()
        server.store("elena@juniper.example", [], raw % (name, mails.tag.encode()))
    for n in range(120):
        server.store("daniel@juniper.example", [], letter(message_id=f"<p{n}@l.example>"))
    cursor = ""
    keys: list[str] = []
    for _ in range(6):
        polled = mails.poll(cursor)
        assert len(polled.cursor) < 5_000
        keys.extend(a.key for a in polled.arrivals)
        cursor = polled.cursor
    assert sorted(keys) == sorted(f"mail:p{n}@l.example" for n in range(120))
    assert mails.poll(cursor).arrivals == ()


def test_a_mailbox_that_is_pruned_is_reported(mails: MailpitMail, server: Mailpit) -> None:
    """SERVICES 3: Mailpit keeps 500 messages by default."""
    server.max_messages = 2
    for n in range(4):
        mails.send(f"k{n}", mail(f"elena/{n}.1", at=AT + n), "Hello", False)
    results = {name: (ok, detail) for name, ok, detail in ready_check(mails)}
    assert not results["mail: everything is kept"][0]
    assert "MP_MAX_MESSAGES=0" in results["mail: everything is kept"][1]


def test_the_doctor_passes_on_a_server_that_works(mails: MailpitMail, server: Mailpit) -> None:
    assert [ok for _, ok, _ in ready_check(mails)] == [True, True, True]
    results = list(live_check(mails, AT, "t1"))
    assert [(name, ok) for name, ok, _ in results] == [
        ("mail: send", True), ("mail: find", True), ("mail: tags", True), ("mail: read back", True),
        ("mail: attachment", True), ("mail: what was seen is not new", True),
    ]  # fmt: skip
    assert all_polled(mails)[:2] == ([], [])


def test_the_doctor_says_what_is_wrong(mails: MailpitMail, server: Mailpit) -> None:
    server.x_tags = False
    assert ("mail: tags", False) in [(name, ok) for name, ok, _ in live_check(mails, AT, "t2")]
    server.stop()
    assert [ok for _, ok, _ in ready_check(mails)] == [False, False]
    assert [(name, ok) for name, ok, _ in live_check(mails, AT, "t3")] == [("mail: live", False)]


# -- any interleaving -------------------------------------------------------------------------------------------------

SMTP_FAULTS = st.sampled_from([("status", 421), ("status", 451), ("drop", 0), ("drop_after", 0)])
STAGES = st.sampled_from(["smtp:MAIL", "smtp:RCPT", "smtp:DATA", "/api/v1/search", "/api/v1/tags", "/raw"])


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Mailpit]:
    with Mailpit() as mailpit:
        yield mailpit


@given(st.lists(st.tuples(SMTP_FAULTS, STAGES, st.integers(0, 2)), max_size=8), st.integers(1, 3))
def test_under_any_faults_every_mail_is_there_once_and_comes_in_once(
    shared_server: Mailpit, faults: list[tuple[tuple[str, int], str, int]], count: int
) -> None:
    """RELIABILITY, "Commit and recovery" 8: nothing lost, nothing doubled, order kept."""
    server = shared_server
    server.messages.clear()
    server.faults.clear()
    for (kind, status), match, skip in faults:
        wrong = kind if match == "smtp:DATA" or kind != "drop_after" or match.startswith("/") else "drop"
        server.faults.plan(Fault(wrong, match=match, status=status or 500, skip=skip))  # type: ignore[arg-type]
    for n in range(count):
        server.store("daniel@juniper.example", ["elena@juniper.example"], letter(message_id=f"<p{n}@l.example>"))
    taken: list[str] = []
    cursor = ""
    mails = carrier(server)
    for n in range(count):
        again = False
        for _ in range(30):
            try:
                mails.send(f"k{n}", mail(f"elena/{n}.1"), "Hello", again)
                break
            except CarrierError:
                again = True
        for _ in range(30):
            try:
                polled = mails.poll(cursor)
                taken.extend(a.key for a in polled.arrivals if a.key not in taken)
                cursor = polled.cursor
                break
            except CarrierError:
                mails.close()
                mails = carrier(server)
    mails.close()
    assert [server.copies(ids.mail_id(PEOPLE.office, f"elena/{n}.1")) for n in range(count)] == [1] * count
    assert sorted(taken) == sorted(f"mail:p{n}@l.example" for n in range(count))


def test_the_cursor_is_json(server: Mailpit, mails: MailpitMail) -> None:
    write(server, letter())
    assert list(json.loads(mails.poll("").cursor)) == ["brought"]


# -- what is asked of the server ------------------------------------------------------------------------------------


def test_nothing_is_ever_deleted_and_no_mailbox_is_marked(server: Mailpit, mails: MailpitMail) -> None:
    """SERVICES 3: a DELETE with an empty list deletes everything."""
    mails.send("k", mail(), "Hello", True)
    write(server, letter())
    all_polled(mails)
    assert {e.request.method for e in server.exchanges} == {"GET", "PUT"}
    assert {e.request.path for e in server.exchanges if e.request.method == "PUT"} == {"/api/v1/tags"}
    assert not any(stored.read for stored in server.messages.values())
