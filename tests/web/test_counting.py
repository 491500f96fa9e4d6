"""What is counted while a log is read once; events by page and by kind; sessions from the tape; costs that are kept."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.web.book import Book, Shelf, Texts
from orchestrator.web.measuring import Measured, main, measure
from orchestrator.web.queries import common, events, numbers, sessions, work
from orchestrator.web.queries.common import MOST, page
from orchestrator.web.queries.costs import Ledger
from orchestrator.web.tally import Tally
from simulator.businesstime import calendar_for
from simulator.canonical import sha256
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from simulator.engine.history import walk
from simulator.engine.segment import fingerprint
from simulator.errors import UnknownReference
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    FileSaved,
    MailSent,
    MessagePosted,
    RoundOpened,
    SegmentLanded,
    WorkReviewed,
    WorkSubmitted,
    decode,
)
from simulator.ports import Blob, ShellState, TapeTool, TreeEntry
from simulator.records import Body, Review, Running, Submission
from tests.access.growth import Op, ops
from tests.access.world import MONDAY, RIVERBEND, juniper
from tests.web.support import Site
from tests.web.test_steering import O
from tests.web.worlds import book_of, events_of, telling, told

HOUR = 3_600


def _tally(book: Book) -> Tally:
    return book.timeline.read_on()


# -- the tally --------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(ops)
def test_days_count_every_event_once(rows: list[Op]) -> None:
    log = told(rows)
    book = book_of(log, "counted")
    tally = _tally(book)
    kinds = Counter(type(e.payload) for e in log)
    assert sum(d.events for d in tally.days) == len(log) == len(tally.times)
    assert sum(d.messages for d in tally.days) == kinds[MessagePosted]
    assert sum(d.mails for d in tally.days) == kinds[MailSent]
    assert sum(d.versions for d in tally.days) == kinds[FileSaved]
    assert sum(d.files for d in tally.days) == len(book.at().files)
    for revision, event in enumerate(log, 1):
        last = max(r for r, e in enumerate(log, 1) if e.sim_time <= event.sim_time)
        assert tally.revision_at(event.sim_time) == last >= revision
    assert tally.revision_at(0) == 0


def test_days_are_the_offices_own() -> None:
    """A firm in London: what happens at half past midnight on a summer's day belongs to that day, not to UTC's."""
    with telling():
        world = juniper()
        calendar = calendar_for(world.office.calendar)
        for day in ("2026-07-01", "2026-07-02"):
            world.now = calendar.at(day, 30)
            world.mail("elena", ["daniel"], day)
    days = {d.day: d.mails for d in _tally(book_of(events_of(world), "summer")).days}
    assert (days["2026-07-01"], days["2026-07-02"]) == (1, 1)


def _worked() -> Book:
    """One job done in two rounds, given at ten, sent back at one and accepted at four, and one activation that still runs."""
    with telling():
        world = juniper()
        world.now, world.step = MONDAY + HOUR, 0
        job = world.delegate("daniel", "reconcile", RIVERBEND)
        for number, (decision, at) in enumerate((("revise", 3 * HOUR), ("accept", 6 * HOUR)), 1):
            run = f"{job}.r{number}.s1"
            started = Running(run, "segment", f"assistant:{job}", (), world.now, 1, ref=job, number=number)
            world.do(ActivationStarted(started), f"assistant:{job}")
            world.do(SegmentLanded(job, number, 1, "submitted", Blob("0" * 64, 2), 4))
            world.do(ActivationLanded(run, 4, "done"))
            world.do(WorkSubmitted(job, number, Submission(world.now, (), Body("Done."))))
            world.now = MONDAY + HOUR + at
            review = Review(world.now, "daniel", decision, Body("Look again."))  # type: ignore[arg-type]
            world.do(WorkReviewed(job, number, review), "daniel")
            if decision == "revise":
                world.do(RoundOpened(job, 2))
        world.do(ActivationStarted(Running("elena.1", "principal", "elena", ("elena",), world.now, 1, number=1)))
    return book_of(events_of(world), "worked")


def test_rounds_rework_and_time_to_accept() -> None:
    book = _worked()
    shown = numbers.numbers(book, book.at(), Ledger().costs(book))
    assert shown.rounds == {"2": 1} and shown.rework == 0.5
    assert shown.hours_to_accept_median == shown.hours_to_accept_mean == 6.0
    assert (shown.totals["submissions"], shown.totals["turns"], shown.totals["activations"]) == (2, 8, 3)
    daniel = next(p for p in shown.people if p.person == "daniel")
    assert (daniel.delegations, daniel.accepted, daniel.sent_back, daniel.hours_to_accept) == (1, 1, 1, 6.0)
    reviews = [work.review_shown(book.at(), book.texts)(pair) for pair in work.reviews(book.at())]
    assert [(r.round, r.decision) for r in reviews] == [(2, "accept"), (1, "revise")]
    assert work.reviews(book.at(), "elena") == []


def test_every_number_is_as_of_the_moment_asked_for() -> None:
    """What a later event brought is not in them: they are those of an office whose log ends there."""
    book = _worked()
    lines = [data for _, data in book.reader.events()]
    for revision in range(1, len(lines) + 1):
        office = book.at(str(revision))
        then = book_of([decode(data) for data in lines[:revision]], "then")
        expected = numbers.numbers(then, then.at(), Ledger().costs(then))
        assert numbers.numbers(book, office, Ledger().costs(book, office)) == expected


def test_costs_and_latency_are_as_of_the_moment_asked_for() -> None:
    book = _worked()
    begun = {a.id: a.began for a in book.timeline.read_on().activations.values()}
    asked = [
        (ModelRequest("assistant", (run, 0), "s", (Message("user", "Go on."),)), ModelResponse("Yes.", latency_ms=1_000 * n, cost_micros=n))
        for n, run in enumerate(sorted(begun, key=lambda i: begun[i]), 1)
    ]  # fmt: skip
    cast(Any, book.reader).record(asked)
    ledger = Ledger()
    whole = ledger.costs(book)
    assert (whole.total.calls, whole.total.micros, whole.total.latency_ms, whole.total.latency_ms_95) == (3, 6, 2_000, 3_000)
    for n, revision in enumerate(sorted(begun.values()), 1):
        assert ledger.costs(book, book.at(str(revision - 1))).total.calls == n - 1
        then = ledger.costs(book, book.at(str(revision)))
        assert (then.total.calls, then.total.latency_ms_95) == (n, 1_000 * n)
        assert sum(line.micros for line in then.by_day) == then.total.micros
    shown = numbers.numbers(book, book.at(), whole)
    assert (shown.latency_ms_median, shown.latency_ms_95) == (2_000, 3_000)
    assert [d.latency_ms for d in shown.days if d.calls] == [2_000]


def test_numbers_of_an_office_in_which_nothing_was_done() -> None:
    book = book_of(told([]), "idle")
    shown = numbers.numbers(book, book.at(), Ledger().costs(book))
    assert (shown.rework, shown.hours_to_accept_median, shown.rounds) == (0.0, 0.0, {})


def test_activations_under_way_and_done_by_person_and_kind() -> None:
    book = _worked()
    found = sessions.activations(book)
    assert [(a.kind, bool(a.ended)) for a in found] == [("principal", False), ("segment", True), ("segment", True)]
    assert [a.id for a in sessions.activations(book, person="elena")] == ["elena.1"]
    assert {a.kind for a in sessions.activations(book, person="daniel")} == {"segment"}, "his assistant works for him"
    assert sessions.activations(book, kind="client") == [] == sessions.activations(book, person="nobody")
    assert len(sessions.activations(book, upto=found[1].began)) == 2
    line = sessions.line(book.at(), found[0])
    assert (line.outcome, line.ended.local, line.actor_name) == ("", "", "Elena")
    shown = sessions.activation(book, "elena.1")
    assert (shown.calls, shown.sessions, shown.cost_micros) == ((), (), 0)
    with pytest.raises(UnknownReference):
        sessions.conversation(book, "elena.1", "", 0, 10, 10)
    with pytest.raises(UnknownReference):
        sessions.conversation(book, "elena.1", "session of somebody else", 0, 10, 10)


# -- tool calls -------------------------------------------------------------------------------------------------------


def _taped(calls: list[ToolCall]) -> list[TapeTool]:
    home = (TreeEntry("a", Blob(sha256(b"a"), 1)),)
    return [TapeTool("d.s1", n, fingerprint(c), "{}", home, ShellState()) for n, c in enumerate(calls, 1)]


@given(
    st.lists(st.tuples(st.sampled_from(("bash", "read", "ask_principal")), st.integers(0, 3)), max_size=9),
    st.integers(0, 9),
)
def test_each_result_finds_the_call_that_it_answers(made: list[tuple[str, int]], earlier: int) -> None:
    """Earlier segments' calls stand before in the same conversation, and alike calls are made again."""
    calls = [ToolCall(f"c{n}", name, f'{{"n":{a}}}') for n, (name, a) in enumerate(made)]
    own = [c for c in calls[earlier:] if c.name != "ask_principal"]
    messages = [Message("assistant", tool_calls=(c,)) for c in calls]
    assert sessions._matched(_taped(own), messages) == own


def test_a_result_without_its_call_is_shown_without_a_name() -> None:
    lost = ToolCall("x", "bash", '{"command":"lost"}')
    kept = ToolCall("y", "bash", '{"command":"kept"}')
    found = sessions._matched(_taped([lost, kept]), [Message("assistant", tool_calls=(kept,))])
    assert [c.name for c in found] == ["", "bash"]


# -- events -----------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    ops, st.integers(1, 40), st.sampled_from([(), ("message",), ("file", "mail"), ("nothing",)]),
    st.sampled_from(["", "elena", "engine"]),
)  # fmt: skip
def test_pages_of_events_are_the_filter_of_the_log(
    rows: list[Op], limit: int, kinds: tuple[str, ...], actor: str
) -> None:
    book = book_of(told(rows), "paged")
    wanted = events.Wanted(kinds, actor)
    lines = (events.shown(event, office, wanted) for event, office in walk(book.reader))
    expected = [line for line in lines if line is not None]
    forwards: list[events.EventLine] = []
    after = 0
    while after < book.timeline.head:
        part = events.after(book, after, limit, wanted)
        assert part.last > after and len(part.events) <= limit
        forwards += part.events
        after = part.last
    backwards: list[events.EventLine] = []
    before = 0
    while before != 1:
        part = events.before(book, before, limit, wanted)
        assert len(part.events) <= limit and part.first >= 1
        backwards = [*part.events, *backwards]
        before = part.first
    assert forwards == backwards == expected


def test_only_so_much_is_looked_through_for_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SCANNED", 5)
    book = book_of(told([]), "scanned")
    part = events.after(book, 0, 10, events.Wanted(("mail",)))
    assert (part.events, part.last) == ((), 5)
    back = events.before(book, 0, 10, events.Wanted(("mail",)))
    assert back.first == book.timeline.head - 4


# -- the small parts ------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(), max_size=40), st.integers(0, 50), st.integers(-3, 50))
def test_pages_are_slices(items: list[int], skip: int, limit: int) -> None:
    found = page(items, skip, limit, lambda n: n)
    count = max(1, limit)
    assert list(found.items) == items[skip : skip + count]
    assert found.more == (len(items) > skip + count)
    assert len(page(list(range(2_000)), 0, 5_000, lambda n: n).items) == MOST


def test_actors_are_named_for_people() -> None:
    world = juniper()
    job = world.delegate("daniel", "goal", RIVERBEND)
    meeting = world.meet("elena", ["elena", "quinn"], "Month-end")
    names = {
        actor: common.actor_name(world.office, actor)
        for actor in ("elena", f"assistant:{job}", "assistant:gone", f"!{meeting}", "!gone", "engine")
    }
    assert list(names.values()) == [
        "Elena",
        "Daniel's assistant",
        "an assistant",
        "Month-end",
        "a meeting",
        "the office",
    ]


def test_no_cell_of_a_table_is_a_formula() -> None:
    """A spreadsheet runs what begins like one."""
    row = numbers.PersonNumbers("=1+1", "@SUM(A1)", "+x", "-y", 1, 2, 3, 4, 0.5, 6, 7, 8)
    (line,) = csv.DictReader(io.StringIO(numbers.as_csv((row,)).decode()))
    assert [line[name] for name in ("person", "name", "title", "department")] == ["'=1+1", "'@SUM(A1)", "'+x", "'-y"]
    assert numbers.as_csv(()).decode().startswith("day,")


def test_texts_are_read_once_and_by_many(watched: Site) -> None:
    book = watched.parts.shelf.open("Juniper")
    texts = Texts(book.reader)
    long = [m.body for m in book.at().mails.values() if m.body.sha256]
    assert all(texts(body) == book.reader.body(body.sha256) for body in (*long, *long))
    assert texts(Body("short")) == "short"


def test_a_few_books_are_open_at_a_time(copied: Site) -> None:
    for n in range(4):
        copied.tell("POST", f"{O}/forks", {"at": "1", "name": f"Fork {n}"}, status=201)
    shelf = Shelf(copied.house, most=2)
    books = [shelf.open(f"Fork {n}") for n in range(4)]
    assert shelf.open("Fork 3") is books[3] and shelf.open("Fork 0") is not books[0]
    assert len(shelf._books) == 2
    shelf.forget(books[3].id)
    assert shelf.open("Fork 3") is not books[3]
    with pytest.raises(UnknownReference, match="no such office"):
        shelf.exactly("none")
    assert shelf.exactly(books[1].id).id == books[1].id


def test_costs_are_summed_anew_only_when_something_was_spent(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    book, ledger = watched.parts.shelf.open("Juniper"), Ledger()
    first = ledger.costs(book)
    reads: list[int] = []
    real = type(book.reader).ledger

    def counted(reader: Any) -> Any:
        reads.append(1)
        return real(reader)

    monkeypatch.setattr(type(book.reader), "ledger", counted)
    assert ledger.costs(book) is first and not reads
    monkeypatch.setattr(type(book.reader), "charged_micros", lambda reader: 5)
    assert ledger.costs(book) == first and reads == [1]


def test_what_opening_and_sliding_take_is_measured(watched: Site) -> None:
    """Issue 5's bars, with room for a busy machine."""
    found = measure(watched.house, "Juniper", steps=60)
    assert found.events == watched.ask(O)["head"] and found.steps == 60
    assert found.first_answer_s < 2 and found.step_median_s < 0.3
    assert found.grew_mib < 20


def test_measures_are_printed_a_line_an_office(
    watched: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OFFICETOWN_HOME", str(watched.house.settings.home))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert main(["Juniper"]) == 0
    found = msgspec.json.decode(capsys.readouterr().out, type=Measured)
    assert found.office == watched.house.row("Juniper").id
