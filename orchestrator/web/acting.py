"""Acting as a person: what is posted is laid on the office's doorstep and has that person's rights, no others (RULE 4)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Annotated, Any

import msgspec

from orchestrator.web.errors import Conflicting
from orchestrator.web.offices import Run, Town
from orchestrator.web.parts import Seat
from simulator.acts import ACTS, ActContext, Refused, decide
from simulator.canonical import canonical, clean_name, clean_text
from simulator.engine.inbound import GIVE_BACK, TAKE_OVER
from simulator.errors import UsageError
from simulator.ports import Blob, BlobStore, InboundItem
from simulator.records import Person

MOST_FILES = 20
MOST_FILE_BYTES = 25_000_000


class FileSent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that comes with an act."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    base64: str


class ActAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An act: the name of its tool and the tool's arguments. `key` makes it happen once however often it is sent."""

    tool: Annotated[str, msgspec.Meta(max_length=40)]
    arguments: dict[str, Any] = {}
    files: tuple[FileSent, ...] = ()
    key: Annotated[str, msgspec.Meta(max_length=100)] = ""


class ActTaken(msgspec.Struct, frozen=True):
    """What became of an act. `state`: `waiting` on the doorstep, `in` the office's log; `conflicts` are why it, or a part of
    it, did not take effect there."""

    key: str
    state: str
    conflicts: tuple[str, ...]


class ToolShown(msgspec.Struct, frozen=True):
    """A tool of a person: its name, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class RoleAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the person plays their role themselves from now on, or the model does."""

    played: bool


def act(seat: Seat, town: Town, blobs: BlobStore, asked: ActAsked) -> ActTaken:
    """Check an act against the office as it is now and lay it on the doorstep.

    Raises UsageError with the reason where it is refused already now, Conflicting where the office does not run here.
    """
    run = _open(town, seat)
    person = _person(seat)
    key = _key(seat.person, asked)
    if f"in:{key}" in seat.office.counts:
        return outcome(seat, key)
    arguments = _arguments(person, asked)
    files = tuple(_file(f, blobs) for f in asked.files[: MOST_FILES + 1])
    if len(files) > MOST_FILES:
        raise UsageError(f"{MOST_FILES} files at most come with one act.")
    ctx = ActContext(seat.office, seat.person, "web", "web.1", seat.office.now, blobs, {}, received=files)
    try:
        decide(ctx, asked.tool, arguments)
    except Refused as refusal:
        raise UsageError(f"{asked.tool} cannot be done: {refusal}") from None
    _lay(run, InboundItem(key, seat.person, asked.tool, canonical(arguments).decode(), files))
    return ActTaken(key, "waiting", ())


def role(seat: Seat, town: Town, asked: RoleAsked) -> ActTaken:
    """Take a role over from the model, or give it back."""
    run = _open(town, seat)
    _person(seat)
    steered = run.clock
    if asked.played and (steered is None or not steered.speed):
        raise Conflicting("Nobody could keep up at speed max: set a speed of 1 to 120 first (RULE 4).")
    number = seat.office.counts.get(f"i:{seat.person}", 0)
    key = f"play:{seat.person}:web{number}:{int(asked.played)}"
    _lay(run, InboundItem(key, seat.person, TAKE_OVER if asked.played else GIVE_BACK))
    return ActTaken(key, "waiting", ())


def outcome(seat: Seat, key: str) -> ActTaken:
    """Return what became of an act of the seat's person, by its key."""
    if f"in:{key}" not in seat.office.counts:
        return ActTaken(key, "waiting", ())
    told = [
        c.reason for c in sorted(seat.office.conflicts.values(), key=lambda c: (c.at, c.id))
        if c.person == seat.person and c.act.startswith(f"{seat.person}.in")
    ]  # fmt: skip
    return ActTaken(key, "in", tuple(told[-5:]))


def tools(seat: Seat) -> tuple[ToolShown, ...]:
    """Return the tools that the seat's person has."""
    from_acts = _WHO[_person(seat).kind]
    return tuple(
        ToolShown(name, " ".join((kind.arguments.__doc__ or name).split()), _schema(kind.arguments))
        for name, kind in ACTS.items()
        if from_acts in kind.who
    )


_WHO = {"staff": "staff", "client": "client"}


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return msgspec.json.schema(kind)


def _open(town: Town, seat: Seat) -> Run:
    run = town.run(seat.book.id)
    if run is None or run.state != "running" or run.clock is None:
        raise Conflicting("The office does not run here now, so nothing can be done in it. The operator can start it.")
    return run


def _person(seat: Seat) -> Person:
    person = seat.seen.person
    if person is None:
        raise UsageError("They are not at the office any more.")
    return person


def _key(person: str, asked: ActAsked) -> str:
    """Return the key under which an act is known for ever: the person's own, so that nobody can guess another's."""
    made = clean_text(asked.key) or hashlib.sha256(canonical((asked.tool, asked.arguments))).hexdigest()[:24]
    return f"web:{person}:{made}"


def _arguments(person: Person, asked: ActAsked) -> Any:
    kind = ACTS.get(asked.tool)
    if kind is None or _WHO[person.kind] not in kind.who:
        raise UsageError(f"There is no act {asked.tool[:40]!r} for this person.")
    try:
        return msgspec.convert(asked.arguments, kind.arguments)
    except (msgspec.ValidationError, RecursionError) as fault:
        raise UsageError(f"The arguments of {asked.tool} are not valid: {fault}.") from None


def _file(sent: FileSent, blobs: BlobStore) -> tuple[str, Blob]:
    try:
        data = base64.b64decode(sent.base64, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"The file {sent.name[:60]!r} is not valid base64.") from None
    if len(data) > MOST_FILE_BYTES:
        raise UsageError(f"The file {sent.name[:60]!r} has more than {MOST_FILE_BYTES} bytes.")
    return clean_name(sent.name) or "file", blobs.put(data)


def _lay(run: Run, item: InboundItem) -> None:
    clock = run.clock
    assert clock is not None
    clock.door.put(item)
    run.wake()
