"""Memory: a person's open records, and those that an activation is given (RULE 12)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from orchestrator.web.queries.common import FileName, When, names_in, when
from orchestrator.web.queries.talk import Read
from simulator.memory import recall
from simulator.office import Office
from simulator.records import Memory, Stimulus
from simulator.view import View


class MemoryShown(msgspec.Struct, frozen=True):
    """One record of a person's memory."""

    id: str
    kind: str
    text: str
    at: When
    about: str
    matter: str
    due: When
    relied: tuple[FileName, ...]


class Injected(msgspec.Struct, frozen=True):
    """The records given to an activation, each list most relevant first."""

    commitments: tuple[MemoryShown, ...]
    discussions: tuple[MemoryShown, ...]
    decisions: tuple[MemoryShown, ...]
    colleagues: tuple[MemoryShown, ...]
    questions: tuple[MemoryShown, ...]


class MemoryPage(msgspec.Struct, frozen=True):
    """A person's open records, and what of them is given to the activation under way, or would be to one that began now."""

    records: tuple[MemoryShown, ...]
    injected: Injected


def memory(office: Office, seen: View, read: Read) -> MemoryPage:
    """Return the subject's memory."""
    person = seen.subject.person
    running = office.running.get(office.busy.get(person, ""))
    stimuli = running.stimuli if running is not None else office.inboxes.get(person, ())
    return MemoryPage(_all(office, seen, seen.memories(), read), injected(office, seen, stimuli, read))


def injected(office: Office, seen: View, stimuli: Iterable[Stimulus], read: Read) -> Injected:
    """Return what an activation of the subject, woken by `stimuli`, is reminded of."""
    given = recall(office, seen.subject.person, tuple(stimuli))
    return Injected(*(_all(office, seen, getattr(given, name), read) for name in Injected.__struct_fields__))


def _all(office: Office, seen: View, records: Iterable[Memory], read: Read) -> tuple[MemoryShown, ...]:
    name = names_in(seen)
    return tuple(
        MemoryShown(m.id, m.kind, read(m.text), when(office, m.at), m.about, m.matter, when(office, m.due),
                    tuple(name(ref) for ref in m.relied)) for m in records
    )  # fmt: skip
