"""Stored events: every kind survives its bytes, the bytes are canonical, and what is none is refused plainly (RULE 20)."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import events, records
from simulator.canonical import canonical, sha256
from simulator.errors import CorruptStore
from simulator.events import (
    PAYLOADS,
    UPCASTERS,
    AnyPayload,
    ClearanceSet,
    Event,
    MemberAdded,
    OfficeOpened,
    Payload,
    decode,
)
from simulator.fold import FOLD_VERSION, HANDLERS

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
WHOLE = st.integers(-(2**53), 2**53)


def of(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    """Any payload of a kind: each field drawn by its type."""
    return st.builds(kind, **{f.name: drawn(f.type) for f in msgspec.structs.fields(kind)})


def drawn(kind: Any) -> st.SearchStrategy[Any]:
    if kind is int:
        return WHOLE
    if kind is str:
        return TEXT
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{f.name: drawn(f.type) for f in msgspec.structs.fields(kind)})
    arguments = get_args(kind)
    if getattr(kind, "__origin__", None) is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return st.lists(drawn(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(drawn, arguments))
    if type(None) in arguments:
        return st.none() | st.one_of(*(drawn(a) for a in arguments if a is not type(None)))
    return st.from_type(kind)


def event(payload: Payload, revision: int = 7, at: int = 9) -> Event:
    return Event(revision, at, "ada", "ada.3", payload)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", PAYLOADS, ids=lambda k: k.__name__)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_kind_reads_back_equal_from_canonical_bytes(kind: type[Payload], data: st.DataObject) -> None:
    original = event(data.draw(of(kind)), data.draw(st.integers(1, 2**53)), data.draw(WHOLE))
    stored = original.encode()
    again = decode(stored)
    assert again == original and type(again.payload) is kind
    assert again.encode() == stored
    raw = msgspec.json.decode(stored)
    assert canonical(raw) == stored, "sorted keys, no white space, nothing that a second reading would change"


@pytest.mark.parametrize("kind", PAYLOADS, ids=lambda k: k.__name__)
def test_each_kind_has_a_tag_of_its_own_with_a_version(kind: type[Payload]) -> None:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str)
    noun, _, version = tag.partition("/")
    assert noun.count(".") == 1 and version.isdigit() and int(version) >= 1


def test_tags_are_unique_and_all_are_decoded_and_folded() -> None:
    tags = [k.__struct_config__.tag for k in PAYLOADS]
    assert len(set(tags)) == len(tags)
    assert set(get_args(AnyPayload)) == set(PAYLOADS) == set(HANDLERS)
    assert not set(UPCASTERS) & set(tags), "an upcaster for the present version would turn in circles"


HEAD, TAIL = '{"activation":"ada.3","actor":"ada","payload":', ',"revision":7,"sim_time":9}'
PINNED = {
    "clearance.set/1": '{"clearance":"confidential","kind":"clearance.set/1","person":"ben"}',
    "member.added/1": '{"kind":"member.added/1","matter":"Ø","person":"\\u0001\\"\\\\"}',
}


@pytest.mark.parametrize("payload", [ClearanceSet("ben", "confidential"), MemberAdded("Ø", '\x01"\\')])
def test_the_bytes_of_an_event_are_these_for_good(payload: ClearanceSet | MemberAdded) -> None:
    """RULE 20: whoever changes this line changes the hash of every office there is."""
    tag = str(type(payload).__struct_config__.tag)
    stored_so = (HEAD + PINNED[tag] + TAIL).encode()
    assert event(payload).encode() == stored_so and decode(stored_so).payload == payload


def test_what_has_its_default_is_left_out_and_comes_back() -> None:
    opened = OfficeOpened("Firm", "p" * 64, 1, "1", events.CalendarRules())
    raw = msgspec.json.decode(event(opened).encode())["payload"]
    assert set(raw) == {"kind", "name", "package", "seed", "engine", "calendar"} and raw["calendar"] == {}
    assert decode(event(opened).encode()).payload == opened


def test_records_are_values_that_nobody_changes() -> None:
    kinds = [k for k in vars(records).values() if isinstance(k, type) and issubclass(k, records.Record)]
    assert len(kinds) > 25
    every: list[type[msgspec.Struct]] = [*kinds, *PAYLOADS, Event]
    assert not [kind for kind in every if not kind.__struct_config__.frozen]


# -- what is no event ----------------------------------------------------------------------------------------------------


def stored(**changes: Any) -> bytes:
    raw = msgspec.json.decode(event(ClearanceSet("ben", "confidential")).encode())
    for key, value in changes.items():
        if key == "without":
            del raw[value]
        else:
            raw[key] = value
    return canonical(raw)


NO_EVENTS = (
    b"", b"{", b"null", b"[]", b'"text"', b"7", b"\xff\xfe", b"\x00", stored(without="payload"), stored(without="revision"), stored(payload=None),
    stored(payload=[]), stored(payload={}), stored(payload={"kind": []}), stored(payload={"kind": 3}), stored(payload={"kind": "clearance.set/2"}),
    stored(payload={"kind": "weather.changed/1"}), stored(payload={"kind": "clearance.set/1", "person": "ben"}), stored(revision="7"),
    stored(payload={"kind": "clearance.set/1", "person": "ben", "clearance": "cosmic"}), stored(sim_time=1.5), stored(actor=None),
    event(ClearanceSet("ben", "public")).encode()[:-1], b"[" * 100_000, b'{"payload":' * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("data", NO_EVENTS, ids=range(len(NO_EVENTS)))
def test_what_is_no_event_of_this_version_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(CorruptStore, match="newer OfficeTown, or its database was changed by hand") as caught:
        decode(data)
    assert caught.value.exit_code == 1


@given(st.binary(max_size=40))
def test_any_bytes_are_an_event_or_a_plain_refusal(data: bytes) -> None:
    with pytest.raises(CorruptStore):
        decode(data)


@settings(max_examples=200)
@given(st.integers(0, 200), st.integers(0, 255))
def test_one_changed_byte_is_another_event_or_none(place: int, value: int) -> None:
    """Never the same event under another hash."""
    whole = event(ClearanceSet("ben", "confidential")).encode()
    place %= len(whole)
    changed = whole[:place] + bytes([value]) + whole[place + 1 :]
    if changed == whole:
        return
    try:
        again = decode(changed)
    except CorruptStore:
        return
    assert again != decode(whole) or sha256(again.encode()) == sha256(whole) != sha256(changed)


# -- upcasters -----------------------------------------------------------------------------------------------------------


def test_upcasters_are_walked_step_by_step_and_only_for_old_versions() -> None:
    seen = []

    def step(source: str, target: str, **changes: Any) -> Any:
        def up(payload: dict[str, Any]) -> dict[str, Any]:
            seen.append(source)
            return {**payload, **changes, "kind": target}

        return up

    table = {
        "clearance.set/-1": step("-1", "clearance.set/0", clearance="public"),
        "clearance.set/0": step("0", "clearance.set/1", person="ben"),
    }
    old = stored(payload={"kind": "clearance.set/-1"})
    assert decode(old, table).payload == ClearanceSet("ben", "public") and seen == ["-1", "0"]
    seen.clear()
    assert decode(stored(), table).payload == ClearanceSet("ben", "confidential") and seen == []


@pytest.mark.parametrize("gives", [{}, {"kind": "clearance.set/1"}, {"kind": "nothing/9"}, None, 3])
def test_an_upcaster_that_gives_no_event_is_a_damaged_store(gives: Any) -> None:
    with pytest.raises(CorruptStore):
        decode(stored(payload={"kind": "clearance.set/0"}), {"clearance.set/0": lambda _: gives})


def test_an_upcaster_that_needs_what_is_not_there_is_a_damaged_store() -> None:
    with pytest.raises(CorruptStore):
        decode(stored(payload={"kind": "clearance.set/0"}), {"clearance.set/0": lambda p: {"kind": p["missing"]}})


def test_the_folds_version_is_part_of_what_a_checkpoint_is_filed_under() -> None:
    assert FOLD_VERSION.isdigit()
