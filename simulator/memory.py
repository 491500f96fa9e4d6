"""What a person is reminded of when an activation begins: their own records, chosen for what is at hand (RULE 12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from simulator.access import can
from simulator.office import Office
from simulator.records import FileRef, Memory, MemoryKind, Stimulus

NEVER = 1 << 62
"""Sorts what has no due date after all that has."""


class Recall(msgspec.Struct, frozen=True):
    """Memory records given to one activation, each list most relevant first."""

    commitments: tuple[Memory, ...] = ()
    discussions: tuple[Memory, ...] = ()
    decisions: tuple[Memory, ...] = ()
    colleagues: tuple[Memory, ...] = ()
    questions: tuple[Memory, ...] = ()


class Hand(msgspec.Struct, frozen=True):
    """What is at hand: the references, matters and people that the stimuli name."""

    refs: frozenset[str]
    matters: frozenset[str]
    people: frozenset[str]


def recall(office: Office, person: str, stimuli: Sequence[Stimulus]) -> Recall:
    """Choose among a person's open memory records those to give to an activation woken by `stimuli`.

    First what is about the very thing at hand, then its matter, then its people; among equals what is due soonest, then
    what is newest. Numbers are `office.memory_limits`; open questions are counted like decisions. With persistence
    switched off nothing is remembered.
    """
    if not office.switches.persistence:
        return Recall()
    hand = at_hand(office, person, stimuli)
    held: dict[MemoryKind, list[Memory]] = {}
    for memory_id in office.by_holder.get(person, ()):
        memory = office.memories[memory_id]
        if not memory.closed_at and can(person, "read_memory", memory_id, office).allowed:
            held.setdefault(memory.kind, []).append(memory)
    limits = office.memory_limits

    def best(kind: MemoryKind, limit: int) -> tuple[Memory, ...]:
        chosen = sorted(held.get(kind, ()), key=lambda m: _order(m, hand))[:limit]
        return tuple(msgspec.structs.replace(m, relied=_readable(office, person, m.relied)) for m in chosen)

    return Recall(
        commitments=best("commitment", limits.commitments),
        discussions=best("discussion", limits.discussions),
        decisions=best("decision", limits.decisions),
        colleagues=best("colleague", limits.colleagues),
        questions=best("question", limits.decisions),
    )


def _readable(office: Office, person: str, refs: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Those of `refs` that may be read now: a record stays when a share is taken back, its reference does not."""
    return tuple(ref for ref in refs if can(person, "read", ref, office).allowed)


def _order(memory: Memory, hand: Hand) -> tuple[int, int, int, str]:
    return (-_relevance(memory, hand), memory.due or NEVER, -memory.at, memory.id)


def _relevance(memory: Memory, hand: Hand) -> int:
    """Score of a record: 4 for the thing itself, 2 for its matter, 1 for its people; what it rests on counts as it."""
    about = memory.about in hand.refs or any(ref.file in hand.refs for ref in memory.relied)
    return 4 * about + 2 * (memory.matter in hand.matters) + (memory.about in hand.people)


def at_hand(office: Office, person: str, stimuli: Iterable[Stimulus]) -> Hand:
    """Return what the stimuli name, looked up one step: a mail's thread, sender and matter, a request's materials."""
    refs: set[str] = set()
    matters: set[str] = set()
    people: set[str] = set()
    for stimulus in stimuli:
        refs.update((stimulus.ref, stimulus.id, stimulus.group.partition(":")[2]))
        people.add(stimulus.source)
        found_refs, matter, found_people = _about(office, stimulus.ref.partition("@")[0])
        refs.update(found_refs)
        matters.add(matter)
        people.update(found_people)
    refs.discard("")
    matters.discard("")
    people -= {"", person, "engine"}
    return Hand(frozenset(refs), frozenset(matters), frozenset(people))


def _about(office: Office, ref: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return (references, matter, people) of one record; empty for what is unknown."""
    if ref in office.messages:
        message = office.messages[ref]
        room = office.rooms[message.room]
        return (message.thread, room.id, *_files(message.cites)), room.matter, (message.sender,)
    if ref in office.mails:
        mail = office.mails[ref]
        return (mail.thread, *_files(mail.attachments)), mail.matter, (mail.sender, *mail.to)
    if ref in office.requests:
        request = office.requests[ref]
        return (request.id, *_files(request.materials)), request.matter, (request.asker, request.owner)
    if ref in office.delegations:
        delegation = office.delegations[ref]
        return (delegation.request, *_files(delegation.inputs)), delegation.matter, ()
    if ref in office.entries:
        entry = office.entries[ref]
        return (entry.id,), entry.matter, (entry.organizer, *entry.attendees)
    if ref in office.demands:
        demand = office.demands[ref]
        return (), demand.matter, (demand.contact,)
    if ref in office.memories:
        memory = office.memories[ref]
        return (memory.about,), memory.matter, (memory.about,)
    file = office.files.get(ref)
    return ((ref,), file.matter, (file.owner,)) if file is not None else ((), "", ())


def _files(refs: Iterable[FileRef]) -> tuple[str, ...]:
    return tuple(ref.file for ref in refs)
