"""Rights in everything that is no file: talk, calendar, work, memory, and who may be known about (RULES 27 and 28).

An assistant sees what its principal sees of its own matter and nothing personal: no memory, no direct rooms without the
matter, nothing that rests on a file outside its confinement.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.access_base import (
    NOT_YOURS,
    Decision,
    Subject,
    active_person,
    allow,
    deny,
    in_audience,
    is_member,
    rank,
)
from simulator.access_files import ASSISTANTS_DO_NOT, read, works_for
from simulator.office import Office
from simulator.records import FileRef, Notice, Person


def _confined(subject: Subject, matter: str) -> bool:
    """Whether a record of `matter` lies within an assistant's confinement (always, for the person)."""
    return subject.matter is None or subject.matter == matter


def _rests_within(office: Office, person: Person, subject: Subject, refs: Iterable[FileRef]) -> bool:
    """Whether an assistant may read all that a telling rests on (always, for the person who was told)."""
    return subject.matter is None or all(read(office, person, subject, ref).allowed for ref in refs)


def read_room(office: Office, person: Person, subject: Subject, room_id: str) -> Decision:
    room = office.rooms.get(room_id)
    if room is None or person.id not in room.members:
        return deny()
    if room.matter and not _within_matter(office, person, room.matter):
        return deny()
    if not _confined(subject, room.matter) or (subject.is_assistant and room.kind == "direct" and not room.matter):
        return deny()
    return allow("a member of the room")


def _within_matter(office: Office, person: Person, matter_id: str) -> bool:
    """Whether the wall of a room's matter lets a person through. A matter without a client is no wall."""
    matter = office.matters.get(matter_id)
    if matter is None:
        return False
    if not matter.client or person.id in matter.members:
        return True
    return person.kind == "client" and person.client == matter.client


def post_room(office: Office, person: Person, subject: Subject, room_id: str) -> Decision:
    if not read_room(office, person, subject, room_id).allowed:
        return deny()
    return deny(ASSISTANTS_DO_NOT) if subject.is_assistant else allow("a member of the room")


def read_message(office: Office, person: Person, subject: Subject, message_id: str) -> Decision:
    message = office.messages.get(message_id)
    if message is None or not read_room(office, person, subject, message.room).allowed:
        return deny()
    if not _rests_within(office, person, subject, message.cites):
        return deny()
    return allow("a member of the room")


def read_mail(office: Office, person: Person, subject: Subject, mail_id: str) -> Decision:
    mail = office.mails.get(mail_id)
    if mail is None or person.id not in (mail.sender, *mail.to, *mail.cc):
        return deny()
    # A mail from outside that names no matter may be about any client: it is for the person alone.
    if not _confined(subject, mail.matter) or (subject.is_assistant and mail.external and not mail.matter):
        return deny()
    if not _rests_within(office, person, subject, mail.attachments):
        return deny()
    return allow("its sender" if person.id == mail.sender else "a recipient")


def read_entry(office: Office, person: Person, subject: Subject, entry_id: str) -> Decision:
    entry = office.entries.get(entry_id)
    if entry is None or person.id not in (entry.organizer, *entry.attendees) or not _confined(subject, entry.matter):
        return deny()
    return allow("its organizer" if person.id == entry.organizer else "an attendee")


def read_meeting(office: Office, person: Person, subject: Subject, meeting_id: str) -> Decision:
    """Those who were there, and those who were invited: latecomers read the minutes (RULE 17)."""
    meeting = office.meetings.get(meeting_id)
    if meeting is None or not _confined(subject, meeting.matter):
        return deny()
    if person.id in (meeting.organizer, *meeting.attendees):
        return allow("was there")
    entry = office.entries.get(meeting.entry)
    if entry is not None and person.id in entry.attendees:
        return allow("was invited")
    return deny()


def read_notice(office: Office, person: Person, subject: Subject, notice: Notice) -> Decision:
    if notice.to != person.id:
        return deny()
    if subject.is_assistant and not _concerns(office, person, subject, notice.ref):
        return deny()
    return allow("addressed to them")


def _concerns(office: Office, person: Person, subject: Subject, ref: str) -> bool:
    """Whether a reference names something within an assistant's confinement. What cannot be placed is not."""
    if ref in office.delegations:
        return read_delegation(office, person, subject, ref).allowed
    if ref in office.requests:
        return read_request(office, person, subject, ref).allowed
    if ref in office.entries:
        return read_entry(office, person, subject, ref).allowed
    if ref in office.meetings:
        return read_meeting(office, person, subject, ref).allowed
    if ref in office.acceptances:
        acceptance = office.acceptances[ref]
        return read(office, person, subject, FileRef(acceptance.file, acceptance.version)).allowed
    return False


def read_request(office: Office, person: Person, subject: Subject, request_id: str) -> Decision:
    request = office.requests.get(request_id)
    if request is None or person.id not in (request.asker, request.owner) or not _confined(subject, request.matter):
        return deny()
    return allow("asked for it" if person.id == request.asker else "was asked")


def read_delegation(office: Office, person: Person, subject: Subject, delegation_id: str) -> Decision:
    delegation = office.delegations.get(delegation_id)
    if delegation is None or delegation.principal != person.id or not _confined(subject, delegation.matter):
        return deny()
    return allow("its principal")


def read_memory(office: Office, person: Person, subject: Subject, memory_id: str) -> Decision:
    memory = office.memories.get(memory_id)
    if memory is None or memory.holder != person.id or subject.is_assistant:
        return deny()
    return allow("its holder")


def know(office: Office, person: Person, subject: Subject, target: str) -> Decision:
    """May `person:<id>`, `client:<id>` or `matter:<id>` be known about: names, titles, departments, addresses.

    Staff know each other and internal work. A client, its contacts and its matters are known to those who work for it;
    contacts know their own side, their own matters, and the staff who work for them.
    """
    kind, _, name = target.partition(":")
    if kind == "person":
        return _know_person(office, person, subject, name)
    if kind == "client" and name in office.clients:
        return _know_client(office, person, subject, name)
    matter = office.matters.get(name) if kind == "matter" else None
    if matter is None:
        return deny()
    if not matter.client:
        return allow("internal work") if person.kind == "staff" else deny()
    if subject.is_assistant and subject.matter != name:
        return deny()
    if person.id in matter.members or (person.kind == "client" and person.client == matter.client):
        return allow("works on it")
    return deny()


def _know_person(office: Office, person: Person, subject: Subject, name: str) -> Decision:
    other = office.people.get(name)
    if other is None:
        return deny()
    if other.id == person.id:
        return allow("oneself")
    if other.kind == "client":
        return _know_client(office, person, subject, other.client)
    if person.kind == "staff" or works_for(office, other.id, person.client):
        return allow("a colleague" if person.kind == "staff" else "works for them")
    return deny()


def _know_client(office: Office, person: Person, subject: Subject, client: str) -> Decision:
    if subject.is_assistant:
        matter = office.matters.get(subject.matter or "")
        if matter is None or matter.client != client:
            return deny()
    if person.kind == "client":
        return allow("their own side") if client and person.client == client else deny()
    return allow("works for them") if works_for(office, person.id, client) else deny()


def request(office: Office, person: Person, subject: Subject, other_id: str) -> Decision:
    """May a request be made to a person: with the authority, to a colleague other than oneself."""
    other = active_person(office, other_id)
    if other is None or not know(office, person, subject, f"person:{other_id}").allowed:
        return deny()
    if subject.is_assistant:
        return deny(ASSISTANTS_DO_NOT)
    if "request" not in person.authority:
        return deny("this needs the authority request")
    if other.kind != "staff":
        return deny("requests are made to colleagues; write to a client")
    if other.id == person.id:
        return deny("one makes no request to oneself")
    return allow("holds the authority request")


def delegate(office: Office, person: Person, subject: Subject, matter: str) -> Decision:
    """May work on a matter (empty: internal work) be delegated: with the authority, by a member of its team."""
    if subject.is_assistant:
        return deny(ASSISTANTS_DO_NOT)
    if matter and not is_member(office, person.id, matter):
        return deny(f"the matter is {NOT_YOURS}")
    if "delegate" not in person.authority:
        return deny("this needs the authority delegate")
    return allow("holds the authority delegate")


def decide(office: Office, person: Person, subject: Subject, delegation_id: str) -> Decision:
    """May a delegation's question be answered or its submission reviewed: by its principal in person."""
    decision = read_delegation(office, person, subject, delegation_id)
    if decision.allowed and subject.is_assistant:
        return deny(ASSISTANTS_DO_NOT)
    return decision


def use_system(office: Office, person: Person, subject: Subject, system_id: str) -> Decision:
    """May a system of record be used: by staff of its audience with the clearance. A contact's firm is another's.

    An assistant has its principal's systems, but one that is for a matter only in work on that matter.
    """
    system = office.systems.get(system_id)
    if system is None or person.kind != "staff":
        return deny()
    if rank(person.clearance) < rank(system.level):
        return deny()
    for audience in system.audience:
        kind, _, name = audience.partition(":")
        if in_audience(office, person, audience) and (kind != "matter" or _confined(subject, name)):
            return allow(f"a system of record for {audience}")
    return deny()


def system_walls(office: Office, system_id: str) -> tuple[str, ...]:
    """Return the wall of what is made from a system: the client's matter that it is for, if it is for one."""
    for audience in office.systems[system_id].audience:
        kind, _, name = audience.partition(":")
        if kind == "matter" and name in office.matters and office.matters[name].client:
            return (name,)
    return ()
