"""RULES 19 to 22: the office as a value, canonical bytes, checkpoints, messages stored once."""

from __future__ import annotations

import copy
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.memory import MemoryJournal
from services.storage.tables import bodies
from simulator.acts.context import make_body
from simulator.canonical import canonical, clean_name, clean_text, sha256
from simulator.conversation import ModelResponse, ToolCall
from simulator.engine.history import as_of, offices_at, walk
from simulator.engine.record import dump, restore
from simulator.errors import CorruptStore
from simulator.events import PAYLOADS, ClearanceSet, Event, MessagePosted, RoomOpened, decode
from simulator.fold import FOLD_VERSION, HANDLERS, apply
from simulator.office import Office
from simulator.records import INLINE_BYTES, Demand, Room
from tests.engine.fuzz import Fuzz
from tests.engine.worlds import Bench
from tests.rules.desk import FINISH, begins, call, calls, clock, events_of, of_kind, opening, rhythm, staff, world

PEOPLE = ["ada", "ben", "cleo"]


def fuzzed(seed: int = 2, **more: Any) -> Bench:
    hours = [rhythm(f"{who}{hour}", who, clock(hour)) for hour in range(10, 17) for who in PEOPLE]
    demand = Demand("d1", "maya", "river", "records-digest", "weekly", 1, 0)
    bench = Bench(opening(staff(*PEOPLE), entries=hours, demands=[demand]), Fuzz([*PEOPLE, "maya"], seed), **more)
    bench.run(clock(18, 0, 1))
    return bench


# -- the office is a value -----------------------------------------------------------------------------------------------


def test_every_payload_has_a_handler_and_every_handler_a_payload() -> None:
    """RULE 19: state is the fold of events, of all of them."""
    assert set(HANDLERS) == set(PAYLOADS)


def test_an_event_makes_a_new_office_and_leaves_the_old_one_as_it_was() -> None:
    """RULE 19: holding an office is holding a snapshot; nothing that happens later shows in it."""
    log = events_of(fuzzed())
    office, kept = Office(), []
    for event in log:
        kept.append((office, dump(office)))
        office = apply(office, event)
    assert len(kept) > 100
    for snapshot, bytes_then in kept[::7]:
        assert dump(snapshot) == bytes_then


def test_equal_logs_fold_to_equal_offices_and_any_revision_can_be_folded() -> None:
    """RULE 19: `as_of` is a fold, not a backup."""
    bench = fuzzed()
    states = {event.revision: office for event, office in walk(bench.journal)}
    picked = set(list(states)[:: max(1, len(states) // 9)])
    assert offices_at(bench.journal, picked) == {r: states[r] for r in picked}
    assert as_of(bench.journal) == states[bench.journal.head] == bench.engine().office


def test_a_log_with_a_gap_or_out_of_order_is_refused() -> None:
    """RULE 19."""
    first, second, third, *_ = events_of(fuzzed())
    office = apply(Office(), first)
    with pytest.raises(CorruptStore, match="gap"):
        apply(office, third)
    with pytest.raises(CorruptStore):
        apply(office, msgspec.structs.replace(second, sim_time=first.sim_time - 1))


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_a_text_longer_than_256_bytes_is_a_reference(text: str) -> None:
    """RULE 19: counted in bytes, kept under its hash."""
    texts: dict[str, str] = {}
    body = make_body(text, texts)
    cleaned = clean_text(text)
    assert body.size == len(cleaned.encode())
    if len(cleaned.encode()) <= INLINE_BYTES == 256:
        assert (body.text, body.sha256, texts) == (cleaned, "", {})
    else:
        assert body.text == "" and texts == {body.sha256: cleaned} and body.sha256 == sha256(cleaned.encode())


def test_long_texts_are_loaded_on_use_and_are_not_in_the_log() -> None:
    """RULE 19."""
    words = "a long story " * 60
    say = calls(call("post_message", to="ben", text=words, asks=True), FINISH)
    bench, model = world(
        opening(staff("ada", "ben"), entries=[rhythm("tell", "ada", clock(10))]),
        {("session-ada", begins("tell")): [say]},
    )
    bench.run(clock(12))
    ((_, posted),) = of_kind(bench, MessagePosted)
    assert posted.message.body.text == "" and bench.journal.body(posted.message.body.sha256) == words
    assert not any(b"a long story a long story" in data for data in bench.log())
    assert any(words.strip() in m.content for r in model.asked if r.session == "session-ben" for m in r.messages)


# -- canonical bytes -----------------------------------------------------------------------------------------------------


def test_what_is_stored_is_canonical_utf8_with_sorted_keys_and_no_floats() -> None:
    """RULE 20."""
    for data in fuzzed().log():
        raw = msgspec.json.decode(data)
        assert msgspec.json.encode(raw, order="sorted") == data == data.decode().encode()
        assert not _floats(raw)


def _floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_floats(v) for v in value.values())
    if isinstance(value, list):
        return any(_floats(v) for v in value)
    return isinstance(value, float)


def test_stored_bytes_read_back_to_the_same_event_and_the_same_bytes() -> None:
    """RULE 20."""
    for data in fuzzed().log():
        assert decode(data).encode() == data


def test_no_record_or_payload_has_a_place_for_a_float() -> None:
    """RULE 20: money is in minor units and times are whole seconds, by type."""
    seen: set[Any] = set()

    def look(kind: Any) -> None:
        if kind in seen:
            return
        seen.add(kind)
        assert kind is not float
        for inner in getattr(kind, "__args__", ()):
            look(inner)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for field in msgspec.structs.fields(kind):
                look(field.type)

    for payload in PAYLOADS:
        look(payload)
    assert len(seen) > 100


@given(
    st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from("\x00\x01\x1f\x7f\r\n\ud800\udfffe\u0301")), max_size=60
    )
)
def test_nul_controls_and_lone_surrogates_never_pass_the_port(text: str) -> None:
    """RULE 20: an answer is cleaned before anything reads it, whatever it holds; names are in NFC besides."""
    answer = ModelResponse(content=text, tool_calls=(ToolCall(text, text, text),), reasoning=text).cleaned()
    call_ = answer.tool_calls[0]
    for cleaned in (answer.content, answer.reasoning, call_.id, call_.name, call_.arguments, clean_name(text)):
        assert not [c for c in cleaned if (c < " " and c not in "\t\n") or c == "\x7f" or "\ud800" <= c <= "\udfff"]
        assert cleaned.encode().decode() == cleaned and clean_text(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", clean_name(text)) and "\n" not in clean_name(text)
    canonical(answer)


def test_a_hostile_answer_lands_as_clean_text() -> None:
    """RULE 20: escapes inside a tool call's JSON are text too."""
    hostile = ModelResponse(
        tool_calls=(
            ToolCall("1", "post_message", '{"to":"general","text":"nul \\u0000 bell \\u0007 end"}'),
            ToolCall("2", "save", '{"path":"Notes/e\\u0301.md","text":"x"}'),
            *FINISH.tool_calls,
        ),
        finish="tool_calls",
    )
    bench, _ = world(
        opening(staff("ada", "ben"), entries=[rhythm("tell", "ada", clock(10))]),
        {("session-ada", begins("tell")): [hostile]},
    )
    state = bench.run(clock(12))
    (message,) = state.messages.values()
    assert message.body.text == "nul \N{REPLACEMENT CHARACTER} bell \N{REPLACEMENT CHARACTER} end"
    assert [f.path for f in state.files.values() if f.owner == "ada"] == ["Notes/\u00e9.md"]
    assert not any(b"\\u0000" in data for data in bench.log())


def test_an_older_version_of_an_event_is_read_through_its_upcasters() -> None:
    """RULE 20: step by step, and an unknown version is refused in plain words."""
    now = Event(4, 9, "engine", "x", ClearanceSet("ada", "confidential"))
    raw = msgspec.json.decode(now.encode())
    raw["payload"] = {"kind": "clearance.set/-1", "who": "ada", "grade": 2}

    def first(payload: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "clearance.set/0", "person": payload["who"], "grade": payload["grade"]}

    def second(payload: dict[str, Any]) -> dict[str, Any]:
        return {
            "kind": "clearance.set/1",
            "person": payload["person"],
            "clearance": ("public", "internal", "confidential")[payload["grade"]],
        }

    assert decode(canonical(raw), {"clearance.set/-1": first, "clearance.set/0": second}) == now
    with pytest.raises(CorruptStore, match="newer OfficeTown"):
        decode(canonical(raw), {"clearance.set/-1": first})


# -- checkpoints ---------------------------------------------------------------------------------------------------------


def test_a_checkpoint_reads_back_to_an_equal_office() -> None:
    """RULE 21."""
    for seed in (1, 5, 8):
        office = as_of(fuzzed(seed).journal)
        assert restore(dump(office)) == office


def test_deleting_all_checkpoints_changes_nothing() -> None:
    """RULE 21: the same offices at every revision, the same log when the run goes on."""

    def run(keep: bool) -> tuple[list[bytes], list[Office], int]:
        bench = fuzzed(3, commit_items=1)
        bench.env.settings = msgspec.structs.replace(bench.env.settings, checkpoint_events=10)
        for day in range(2, 5):
            bench.run(clock(18, 0, day))
            assert isinstance(bench.journal, MemoryJournal)
            if not keep:
                bench.journal.office.checkpoints.clear()
        found = len(bench.journal.office.checkpoints)  # type: ignore[attr-defined]
        return bench.log(), [as_of(bench.journal, r) for r in range(0, bench.journal.head, 23)], found

    kept, dropped = run(True), run(False)
    assert kept[2] > 3 and dropped[2] == 0
    assert kept[:2] == dropped[:2]


def test_a_checkpoint_of_another_fold_is_not_used() -> None:
    """RULE 21: keyed by the fold's version."""
    bench = fuzzed()
    bench.journal.save_checkpoint(bench.journal.head, f"{FOLD_VERSION}-other", b"not an office of this fold")
    assert as_of(bench.journal) == as_of(bench.journal, checkpoints=False)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 200))
def test_a_fold_from_any_checkpoint_is_the_fold_from_the_start(seed: int, place: int) -> None:
    """RULE 21."""
    bench = Bench(opening(staff("ada", "ben")), Fuzz(["ada", "ben"], seed))
    bench.run(clock(14))
    revision = min(place, bench.journal.head)
    bench.journal.save_checkpoint(revision, FOLD_VERSION, dump(as_of(bench.journal, revision)))
    assert as_of(bench.journal) == as_of(bench.journal, checkpoints=False)


def test_an_office_that_was_copied_shares_its_maps() -> None:
    """RULE 19: a snapshot is a pointer, not a copy of what it holds."""
    office = as_of(fuzzed().journal)
    room = Room("r", "r", "channel", ("ada",))
    after = apply(office, Event(office.revision + 1, office.now, "engine", "x", RoomOpened(room)))
    assert after.files is office.files and after.people is office.people and copy.copy(after).rooms is after.rooms
    assert "r" in after.rooms and "r" not in office.rooms


# -- stored messages -----------------------------------------------------------------------------------------------------


def test_each_message_body_is_stored_once_an_office(tmp_path: Path) -> None:
    """RULE 22: a request is parameters and hashes; its messages come back whole."""
    database = Database(f"sqlite:///{tmp_path}/offices.db")
    offices = Offices(database, tmp_path / "locks")
    office_id = offices.create("Firm", "p" * 64, 0, "1", 1)
    journal = offices.open(office_id)
    steps = [*[call("list_work")] * 9, FINISH]
    bench, model = world(
        opening(staff("ada", "ben"), entries=[rhythm("work", "ada", clock(10))]),
        {("session-ada", begins("work")): steps},
        journal=journal,
    )
    bench.run(clock(12))
    distinct = {m.digest for r in model.asked for m in r.messages}
    told = sum(len(r.messages) for r in model.asked)
    with database.reading() as connection:
        stored = connection.execute(select(func.count()).select_from(bodies)).scalar_one()
    answers = len(model.asked)
    assert told > 2 * len(distinct) and stored <= len(distinct) + answers
    back = {request.call: request.messages for request, _ in journal.requests()}
    assert back == {r.call: r.messages for r in model.asked}
    journal.close()
    database.close()


def test_equal_requests_have_equal_fingerprints_whatever_their_endpoint() -> None:
    """RULE 22 and RULE 2: hashes of parameters and messages; a changed word, tool or limit is another request."""
    bench, model = world(opening(staff("ada")), {})
    bench.run(clock(12))
    (request, *_) = model.asked
    same = msgspec.structs.replace(request)
    other = msgspec.structs.replace(
        request, messages=(*request.messages[:-1], msgspec.structs.replace(request.messages[-1], content="x"))
    )
    assert same.fingerprint == request.fingerprint
    assert (
        len(
            {
                r.fingerprint
                for r in (
                    request,
                    other,
                    msgspec.structs.replace(request, tools=()),
                    msgspec.structs.replace(request, max_output=9),
                )
            }
        )
        == 4
    )
