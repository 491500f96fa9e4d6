"""What the queries share: pages, moments as people read them, names of files and actors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from simulator.businesstime import calendar_for
from simulator.engine.agenda import MEETING_ACTOR
from simulator.office import Office
from simulator.records import FileRef
from simulator.view import View

MOST = 500
"""Items of a page at most."""
T = TypeVar("T")
S = TypeVar("S")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list. `skip` items come before it; `more` says whether any come after it."""

    items: tuple[T, ...]
    skip: int
    more: bool


class When(msgspec.Struct, frozen=True):
    """A simulated moment: seconds since the epoch, and the office's own clock as ISO 8601. Empty where `at` is 0."""

    at: int
    local: str


class FileName(msgspec.Struct, frozen=True):
    """A file version as whoever asked may call it; `path` is where they see it."""

    file: str
    version: int
    path: str


def page(items: Sequence[T], skip: int, limit: int, show: Callable[[T], S]) -> Page[S]:
    """Return `limit` of the items after the first `skip`, each as `show` shows it."""
    limit = max(1, min(limit, MOST))
    some = items[skip : skip + limit]
    return Page(tuple(show(item) for item in some), skip, skip + limit < len(items))


def newest(items: Iterable[T], at: Callable[[T], tuple[int, str]]) -> list[T]:
    """Return items, the newest first."""
    return sorted(items, key=at, reverse=True)


def when(office: Office, at: int) -> When:
    """Return a moment of an office."""
    if not at:
        return When(0, "")
    return When(at, calendar_for(office.calendar).local(at).isoformat(timespec="minutes"))


def actor_name(office: Office, actor: str) -> str:
    """Return who an actor is, for people."""
    person = office.people.get(actor)
    if person is not None:
        return person.name
    kind, _, ref = actor.partition(":")
    if kind == "assistant":
        work = office.delegations.get(ref)
        owner = office.people.get(work.principal) if work is not None else None
        return f"{owner.name}'s assistant" if owner is not None else "an assistant"
    if actor.startswith(MEETING_ACTOR):
        entry = office.entries.get(actor.removeprefix(MEETING_ACTOR))
        return entry.title if entry is not None else "a meeting"
    return "the office"


Naming = Callable[[FileRef], FileName]


def names_of(office: Office) -> Naming:
    """Return how the operator calls file versions: by space and path."""

    def name(ref: FileRef) -> FileName:
        file = office.files.get(ref.file)
        return FileName(ref.file, ref.version, f"{file.space}/{file.path}" if file is not None else "")

    return name


def names_in(seen: View) -> Naming:
    """Return how a person calls file versions: by where they see them. Only for those that a view has shown."""

    def name(ref: FileRef) -> FileName:
        return FileName(ref.file, ref.version, seen.path_of(ref) or "")

    return name
