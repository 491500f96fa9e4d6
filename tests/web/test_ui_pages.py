"""The pages' own readings on a real record: at every moment, for every person, and never more than a view allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.web.caller import OPERATOR, Caller
from orchestrator.web.queries.talk import MailLine
from orchestrator.web.ui import chat, clockface, delegation, file, files, floor, kit, mail, people, shell, work
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.pages import ALL
from orchestrator.web.ui.paths import PATHS, address
from simulator.access import Subject
from simulator.errors import UnknownReference
from simulator.view import view
from tests.web.support import Site

MOMENTS = ("1", "40", "160", "")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "dashboard.md"


def ask(watched: Site, at: str = "", caller: Caller = OPERATOR, **query: str) -> Ask:
    book = watched.parts.shelf.open("Juniper")
    return Ask(watched.parts, caller, {"office": book.id, "at": at, **query}, book, book.at(at), not at)


def office_pages(watched: Site) -> Iterator[tuple[str, Ask]]:
    """Every page of an office with what its address needs."""
    now = watched.parts.shelf.open("Juniper").at()
    some = {
        "person": "elena", "delegation": sorted(now.delegations)[0], "file": sorted(now.files)[0],
        "activation": next(iter(watched.parts.shelf.open("Juniper").timeline.read_on().activations)),
    }  # fmt: skip
    for page in ALL:
        if page.of_office:
            wanted = {name: some[name] for name in re.findall(r"{(\w+)}", page.path) if name != "office"}
            yield page.name, ask(watched, "", OPERATOR, **wanted)


def test_every_page_of_an_office_reads_its_data_twice_the_same(watched: Site) -> None:
    """What has not changed compares equal, so that it is not drawn anew under a reader's eyes."""
    loads = {page.name: page.load for page in ALL}
    names = []
    for name, asked in office_pages(watched):
        names.append(name)
        if name != "health":
            assert loads[name](asked) == loads[name](asked), name
        else:
            assert loads[name](asked).health.why == loads[name](asked).health.why
    assert set(names) >= set(PATHS) - {"offices"}


@pytest.mark.parametrize("at", MOMENTS)
def test_the_pages_that_follow_the_slider_can_be_read_at_any_moment(watched: Site, at: str) -> None:
    for load in (floor.load, people.load_all, work.load, files.load, mail.load, chat.load):
        load(ask(watched, at))


def test_the_floor_shows_nothing_that_has_not_happened_yet(watched: Site) -> None:
    """The slider shows a past day's truth."""
    for revision in (40, 160, 300):
        asked = ask(watched, str(revision))
        seen = floor.load(asked)
        assert seen.floor.revision == revision
        assert all(line.revision <= revision and line.at.at <= asked.office.now for line in seen.lines)
        assert all(int(f.key.partition(".")[0]) <= revision for f in seen.flights)


def test_mail_as_a_person_sees_it_is_their_own_and_everybodys_is_all(watched: Site) -> None:
    everything = mail.load(ask(watched)).total
    assert everything == len(ask(watched).office.mails)
    for person in ask(watched).office.people:
        asked = ask(watched, "", OPERATOR, person=person)
        shown = mail.load(asked)
        allowed = {m.id for m in view(asked.office, Subject(person)).mails(0)}
        assert {m.id for m in shown.lines} <= allowed
        assert shown.total == len(allowed) <= everything


def test_files_as_a_person_sees_them_are_those_of_their_view(watched: Site) -> None:
    """DESIGN 4: the per-person pages go through `view`."""
    for person in ("elena", "tomas", "maya"):
        asked = ask(watched, "", OPERATOR, person=person)
        allowed = {f.ref.file for f in view(asked.office, Subject(person)).files()}
        shown = files.load(asked)
        assert shown.total == len(allowed)
        assert {line.id for line in shown.lines} <= allowed


def test_a_persons_own_key_shows_their_view_whoever_they_ask_for(watched: Site) -> None:
    """A person's token used for another person: it shows the first."""
    book = watched.parts.shelf.open("Juniper")
    maya = Caller(book.id, "maya")
    theirs = mail.load(ask(watched, "", OPERATOR, person="maya"))
    assert mail.load(ask(watched, "", maya, person="elena")).lines == theirs.lines
    assert mail.load(ask(watched, "", maya)).lines == theirs.lines
    shown = people.load(ask(watched, "", maya, person="maya", tab="sessions"))
    assert shown.own
    assert (shown.tab, shown.full) == ("now", None), "sessions and the inbox are the operator's"
    allowed = {c.id for c in view(book.at(), Subject("maya")).people()} | {"maya"}
    assert set(shown.names) <= allowed


def test_a_mail_that_is_not_theirs_is_not_there_for_them(watched: Site) -> None:
    asked = ask(watched)
    other = next(m for m in asked.office.mails.values() if "maya" not in (m.sender, *m.to, *m.cc))
    with pytest.raises(UnknownReference):
        mail.load(ask(watched, "", OPERATOR, person="maya", mail=other.id))
    assert mail.load(ask(watched, "", OPERATOR, mail=other.id)).open == other.id


def test_lists_are_shown_in_parts_that_together_are_the_whole(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 messages in a room: a page shows some at a time."""
    monkeypatch.setattr(mail, "AT_ONCE", 3)
    found: list[MailLine] = []
    total = mail.load(ask(watched)).total
    while len(found) < total:
        part = mail.load(ask(watched, "", OPERATOR, skip=str(len(found))))
        assert 0 < len(part.lines) <= 3
        found.extend(part.lines)
    assert {m.id for m in found} == set(ask(watched).office.mails)
    assert mail.load(ask(watched, "", OPERATOR, skip="999999999999999")).skip == 0


def test_a_version_that_there_is_not_yet_is_told_in_plain_words(watched: Site) -> None:
    some = sorted(ask(watched).office.files)[0]
    with pytest.raises(UnknownReference, match="there is no version 99"):
        file.load(ask(watched, "", OPERATOR, file=some, version="99"))
    with pytest.raises(UnknownReference):
        file.load(ask(watched, "", OPERATOR, file="no-such-file"))


def test_what_changed_in_a_delegation_is_between_versions_of_its_own_results(watched: Site) -> None:
    office = ask(watched).office
    for name, d in office.delegations.items():
        own = {ref.file for r in d.rounds for ref in (r.submission.files if r.submission else ())}
        for pair in delegation.pairs_of(office, name):
            assert pair.file in own
            assert pair.after == pair.before + 1 <= len(office.files[pair.file].versions)


# -- addresses, clocks, elements -------------------------------------------------------------------------------------------------


def test_pages_have_names_and_places_of_their_own() -> None:
    assert len({p.name for p in ALL}) == len({p.path for p in ALL}) == len(ALL)
    assert all(p.path == PATHS[p.name] for p in ALL if p.name in PATHS)
    named = {p.name for p in ALL}
    assert all(p.under in named for p in ALL if p.under)


def test_an_address_holds_any_id_and_leaves_out_what_is_empty() -> None:
    assert address(PATHS["person"], office="o", person="a/b?c#d <x>", at="", tab="now") == "/office/o/person/a%2Fb%3Fc%23d%20%3Cx%3E?tab=now"
    assert address("/offices") == "/offices"


@pytest.mark.parametrize(
    ("waited", "speed", "due", "shown"),
    [(0, 120, 3_600, 0), (10, 120, 3_600, 1_200), (100, 120, 3_600, 3_600), (10, 0, 3_600, 0), (10, 120, 60_000, 0), (-5, 120, 60, 0)],
)
def test_between_two_events_the_clock_goes_on_but_never_past_the_next(waited: float, speed: int, due: int, shown: int) -> None:
    assert clockface.passing(1_000, 1_000 + due, waited, speed) == 1_000 + shown


@pytest.mark.parametrize("href", ["javascript:run()", "//elsewhere.example", " /x", "https://elsewhere.example", "data:text/html,x"])
def test_no_link_leads_out_of_this_site_or_runs_anything(href: str) -> None:
    assert not kit.ours(href)


@pytest.mark.parametrize("href", ["/offices", "#content", "?at=3", "/office/o/floor?at=3"])
def test_links_within_this_site_are_links(href: str) -> None:
    assert kit.ours(href)


@pytest.mark.parametrize(("query", "number"), [("7", 7), ("", 5), ("-1", 5), ("x", 5), ("99", 50), ("٣", 5), ("1" * 20, 5)])
def test_a_number_of_the_address_is_a_number_in_its_bounds(watched: Site, query: str, number: int) -> None:
    assert ask(watched, "", OPERATOR, n=query).number("n", 5, 50) == number


def test_the_documentation_names_every_page_and_every_control() -> None:
    """docs/dashboard.md is what the browser tests go by."""
    words = DOCS.read_text("utf-8")
    for page in ALL:
        if not page.path.startswith(("/experts", "/results")):
            assert f"`page-{page.name}`" in words, page.name
            assert f"`{page.path}" in words, page.path
    source = Path(shell.__file__).parent
    own = [f for f in source.glob("*.py") if not f.name.startswith(("experts", "results", "reviewing"))]
    used = {name for f in own for name in re.findall(r'test="([a-z][a-z-]*[a-z])"', f.read_text("utf-8"))}
    assert {name for name in used if f"`{name}`" not in words} == set()
