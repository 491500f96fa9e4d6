"""Acts of talk: messages, mails, calendar."""

from __future__ import annotations

import base64
import binascii

from simulator.access import telling_refusals
from simulator.acts import arguments as a
from simulator.acts.context import ActContext, Outcome, Refused
from simulator.acts.files import grants_for, new_version, received_name
from simulator.canonical import clean_name
from simulator.events import (
    EntryAnswered,
    EntryCancelled,
    EntryMoved,
    EntryScheduled,
    FileShared,
    MailSent,
    MessagePosted,
    Payload,
    RoomOpened,
)
from simulator.office import Office
from simulator.records import CalendarEntry, ChatMessage, FileRef, Grant, Mail, Room
from simulator.recurrence import next_occurrence

ATTACHMENT_LIMIT = 25_000_000
"""Bytes of one attachment."""


def direct_room(first: str, second: str) -> str:
    """Return the id of two people's direct room: the same whoever writes first."""
    low, high = sorted((first, second))
    return f"dm:{low}:{high}"


def post_message(ctx: ActContext, args: a.PostMessage) -> Outcome:
    if not args.text.strip():
        raise Refused("the message is empty")
    events: list[Payload] = []
    room = _room(ctx, args.to)
    if room is None:
        other = ctx.person(args.to)
        if other.id == ctx.actor or other.kind != "staff":
            raise Refused("direct messages go to colleagues; write a mail to a client")
        room_id = direct_room(ctx.actor, other.id)
        if room_id not in ctx.office.rooms:
            members = tuple(sorted((ctx.actor, other.id)))
            events.append(RoomOpened(Room(room_id, f"{ctx.me.name} and {other.name}", "direct", members)))
    else:
        room_id = room.id
        ctx.allow("post_room", room_id)
    thread = ""
    if args.in_reply_to:
        first = ctx.office.messages.get(args.in_reply_to)
        if first is None or first.room != room_id:
            raise Refused(f"there is no message {args.in_reply_to!r} in that room")
        thread = first.thread or first.id
    cites = ctx.files(args.cites)
    others = (
        [p for p in ctx.office.rooms[room_id].members if p != ctx.actor]
        if room is not None
        else [ctx.person(args.to).id]
    )
    refusals = telling_refusals(ctx.office, others, cites)
    if refusals:
        raise Refused("the message was not posted: " + "; ".join(refusals))
    message = ChatMessage(ctx.act_id, room_id, ctx.actor, ctx.at, ctx.body(args.text, 8_000), thread, args.asks, cites)
    return Outcome((*events, MessagePosted(message)), {"message": message.id, "room": room_id})


def _room(ctx: ActContext, name: str) -> Room | None:
    """Find a room the actor is in, by id or name."""
    room = ctx.office.rooms.get(name)
    if room is not None and ctx.actor in room.members:
        return room
    wanted = name.strip().lstrip("#").casefold()
    mine = [r for r in ctx.office.rooms.values() if ctx.actor in r.members and r.name.casefold() == wanted]
    return min(mine, key=lambda r: r.id) if mine else None


def send_mail(ctx: ActContext, args: a.SendMail) -> Outcome:
    to, cc = ctx.people(args.to), ctx.people(args.cc)
    if not to:
        raise Refused("a mail needs at least one recipient")
    if not args.text.strip():
        raise Refused("the mail is empty")
    everyone = tuple(p for p in (*to, *cc) if p != ctx.actor)
    matter = ctx.matter(args.matter)
    attachments = ctx.files(args.attachments)
    events: list[Payload] = []
    refusals: list[str] = []
    step = max(100, len(everyone))  # so that no two grants of one mail share an id
    for number, ref in enumerate(attachments):
        try:
            events.extend(grants_for(ctx, ref, tuple(f"person:{p}" for p in everyone), number * step))
        except Refused as fault:
            refusals.append(str(fault))
    if refusals:
        raise Refused("the mail was not sent: " + "; ".join(dict.fromkeys(refusals)))
    outside = any(ctx.office.people[p].kind == "client" for p in everyone)
    mail = _mail(ctx, to, cc, args.subject, args.text, attachments, args.in_reply_to, matter, outside)
    return Outcome((*events, MailSent(mail)), {"mail": mail.id, "thread": mail.thread, "to": list(to)})


def _mail(
    ctx: ActContext,
    to: tuple[str, ...],
    cc: tuple[str, ...],
    subject: str,
    text: str,
    attachments: tuple[FileRef, ...],
    in_reply_to: str,
    matter: str,
    external: bool,
) -> Mail:
    thread = ctx.act_id
    if in_reply_to:
        first = ctx.office.mails.get(in_reply_to)
        if first is None or ctx.actor not in (first.sender, *first.to, *first.cc):
            raise Refused(f"there is no mail {in_reply_to!r} in your mailbox")
        thread, matter = first.thread, matter or first.matter
    return Mail(
        ctx.act_id, thread, ctx.actor, to, cc, clean_name(subject)[:300] or "(no subject)", ctx.body(text), ctx.at,
        attachments, external, matter,
    )  # fmt: skip


def client_mail(ctx: ActContext, args: a.ClientMail) -> Outcome:
    """A client writes. Attachments become confidential files of the matter, visible to its team and their sender
    alone."""
    to = ctx.people(args.to)
    if not to or not args.text.strip():
        raise Refused("a mail needs a recipient and a text")
    matter = _named_matter(ctx.office, args.matter) or _client_matter(ctx.office, ctx.me.client)
    if matter:
        ctx.allow("deposit", f"matter:{matter}")
    enclosed = [(item.name, ctx.blobs.put(_bytes(item))) for item in args.attachments] if matter else []
    if (args.attachments or ctx.received) and not matter:
        raise Refused("there is no matter to file the attachments in: name one")
    events: list[Payload] = []
    refs: list[FileRef] = []
    folder = clean_name(args.period).replace("/", "-")[:40].strip(" .") or ctx.calendar.day(ctx.at)
    names: set[str] = set()
    for number, (given, blob) in enumerate((*enclosed, *ctx.received)):
        name = received_name(given, names)
        saved = new_version(
            ctx, f"matter:{matter}", f"Inputs/{folder}/{name}", f"matter:{matter}", blob, (),
            file_id=f"{ctx.act_id}.f{number}", matter=matter, level="confidential",
        )  # fmt: skip
        events.append(saved)
        refs.append(FileRef(saved.file, saved.version.number))
        for k, audience in enumerate((f"matter:{matter}", f"person:{ctx.actor}")):
            grant = Grant(f"{ctx.act_id}.f{number}.g{k}", saved.file, saved.version.number, audience, ctx.actor, ctx.at,
                          "received from the client for this matter")  # fmt: skip
            events.append(FileShared(grant))
    mail = _mail(ctx, to, (), args.subject, args.text, tuple(refs), args.in_reply_to, matter, True)
    return Outcome((*events, MailSent(mail)), {"mail": mail.id, "thread": mail.thread})


def _bytes(item: a.Attachment) -> bytes:
    if not item.base64:
        return item.text.encode("utf-8", "replace")
    try:
        data = base64.b64decode(item.base64, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"the attachment {item.name!r} is not valid base64") from None
    if len(data) > ATTACHMENT_LIMIT:
        raise Refused(f"the attachment {item.name!r} is larger than 25 MB")
    return data


def _named_matter(office: Office, name: str) -> str:
    """Return the id of the matter called so, whoever it belongs to: whether it may be used is `can`'s to say."""
    wanted = name.strip().casefold()
    found = (m.id for m in office.matters.values() if wanted and wanted in (m.id.casefold(), m.name.casefold()))
    return min(found, default=name)


def _client_matter(office: Office, client: str) -> str:
    mine = sorted(m.id for m in office.matters.values() if client and m.client == client)
    return mine[0] if mine else ""


# -- calendar ---------------------------------------------------------------------------------------------------------


def clash(office: Office, ctx: ActContext, person: str, start: int, minutes: int, but: str = "") -> str:
    """Return the id of an event that already takes the person in that time, or nothing."""
    end = start + minutes * 60
    for name in office.by_calendar.get(person, ()):
        entry = office.entries[name]
        if entry.id == but or entry.cancelled or entry.kind not in ("meeting", "focus"):
            continue
        if (person, "declined") in entry.answers or entry.start >= end:
            continue
        if not entry.rule:
            if entry.start + entry.minutes * 60 > start:
                return name
            continue
        begins = next_occurrence(entry, start - entry.minutes * 60, ctx.calendar)
        if begins is not None and begins < end:
            return name
    return ""


def schedule(ctx: ActContext, args: a.Schedule) -> Outcome:
    start = ctx.when(args.start)
    if start < ctx.at:
        raise Refused("that time is past")
    attendees = tuple(p for p in ctx.people(args.attendees) if p != ctx.actor)
    matter = ctx.matter(args.matter)
    entry = CalendarEntry(
        ctx.act_id, clean_name(args.title)[:200] or "(untitled)", ctx.actor, attendees, start, args.minutes,
        args.event_kind, args.agenda[:2_000], args.repeat.removeprefix("RRULE:"), matter,
    )  # fmt: skip
    if any(ctx.office.people[p].kind == "client" for p in attendees):
        raise Refused("clients are invited by mail: only colleagues can be put into a calendar event")
    if entry.kind == "meeting":
        if not attendees:
            raise Refused("a meeting needs somebody to meet")
        taken = [p for p in (ctx.actor, *attendees) if clash(ctx.office, ctx, p, start, args.minutes)]
        if taken:
            raise Refused(f"busy at that time: {', '.join(taken)}; ask for free_busy and take another slot")
    if entry.rule:
        next_occurrence(entry, start - 1, ctx.calendar)
    return Outcome((EntryScheduled(entry),), {"event": entry.id, "attendees": list(attendees)})


def respond(ctx: ActContext, args: a.Respond) -> Outcome:
    ctx.allow("read_entry", args.event)
    entry = ctx.office.entries[args.event]
    if ctx.actor not in entry.attendees:
        raise Refused("you are not invited to that event")
    _still_on(entry)
    returning = args.answer != "declined" and (ctx.actor, "declined") in entry.answers
    if (
        returning
        and entry.kind == "meeting"
        and clash(ctx.office, ctx, ctx.actor, entry.start, entry.minutes, entry.id)
    ):
        raise Refused("you have taken something else for that time since you declined")
    return Outcome((EntryAnswered(entry.id, ctx.actor, args.answer),), {"event": entry.id, "answer": args.answer})


def move(ctx: ActContext, args: a.Move) -> Outcome:
    ctx.allow("read_entry", args.event)
    entry = ctx.office.entries[args.event]
    if entry.organizer != ctx.actor:
        raise Refused("only the organizer can move or cancel an event")
    _still_on(entry)
    ctx.rely("entry", entry.id)
    if not args.start.strip():
        return Outcome((EntryCancelled(entry.id, ctx.actor),), {"event": entry.id, "cancelled": True})
    start = ctx.when(args.start)
    if start < ctx.at:
        raise Refused("that time is past")
    if 0 < args.minutes < 5:
        raise Refused("an event takes at least 5 minutes")
    minutes = args.minutes or entry.minutes
    taken = [p for p in (ctx.actor, *entry.attendees) if clash(ctx.office, ctx, p, start, minutes, entry.id)]
    if taken and entry.kind == "meeting":
        raise Refused(f"busy at that time: {', '.join(taken)}")
    return Outcome((EntryMoved(entry.id, start, minutes),), {"event": entry.id, "start": args.start})


def _still_on(entry: CalendarEntry) -> None:
    if entry.cancelled:
        raise Refused("that event was cancelled: schedule a new one")
