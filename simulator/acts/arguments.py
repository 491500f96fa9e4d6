"""The arguments of every act, one struct a tool. The tools' JSON schemas are made from these."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

D = msgspec.Meta
Text = Annotated[str, D(max_length=60_000)]
Names = tuple[Annotated[str, D(max_length=500)], ...]
Short = Annotated[str, D(max_length=2_000)]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all arguments; unknown ones are an error that the model is shown."""


class PostMessage(Arguments, frozen=True):
    """Post a message to a room you are in, or to a colleague directly. Set asks when you need an answer."""

    to: Annotated[Short, D(description="room id or name, or a colleague")]
    text: Text
    asks: bool = False
    in_reply_to: Annotated[Short, D(description="id of the message answered")] = ""
    cites: Annotated[Names, D(description="files the message is about, by path")] = ()


class SendMail(Arguments, frozen=True):
    """Send a mail, inside or to a client. Attachments are accepted file versions; each is checked before it leaves."""

    to: Names
    subject: Short
    text: Text
    cc: Names = ()
    attachments: Annotated[Names, D(description="files by path, `@<version>` for an exact version")] = ()
    in_reply_to: Annotated[Short, D(description="id of the mail answered")] = ""
    matter: Short = ""


class Schedule(Arguments, frozen=True):
    """Put an event into the calendar. Meetings take the attendees who are free; times are local, YYYY-MM-DD HH:MM."""

    title: Short
    attendees: Names
    start: Short
    minutes: Annotated[int, D(ge=5, le=480)] = 30
    agenda: Short = ""
    event_kind: Literal["meeting", "deadline", "focus"] = "meeting"
    repeat: Annotated[Short, D(description="RFC 5545 rule such as FREQ=WEEKLY, or empty")] = ""
    matter: Short = ""


class Respond(Arguments, frozen=True):
    """Answer an invitation."""

    event: Short
    answer: Literal["accepted", "declined", "tentative"]


class Move(Arguments, frozen=True):
    """Move or cancel an event you organize."""

    event: Short
    start: Annotated[Short, D(description="new local start; empty cancels the event")] = ""
    minutes: Annotated[int, D(ge=0, le=480, description="new length; 0 keeps it")] = 0


class MakeRequest(Arguments, frozen=True):
    """Ask a colleague for an outcome: what, by when, with which materials. It binds nobody until it is accepted."""

    to: Short
    outcome: Text
    due: Annotated[Short, D(description="local time YYYY-MM-DD HH:MM, or a date")] = ""
    materials: Annotated[Names, D(description="files by path")] = ()
    matter: Short = ""
    work: Annotated[Short, D(description="skill or work kind, if one fits")] = ""
    period: Short = ""


class AcceptRequest(Arguments, frozen=True):
    """Accept a request made to you."""

    request: Short
    note: Short = ""


class DeclineRequest(Arguments, frozen=True):
    """Decline a request made to you, or hand back an accepted one, with the reason."""

    request: Short
    reason: Short


class FulfilRequest(Arguments, frozen=True):
    """Report a request as fulfilled, naming the results. The asker must be able to read them: share first."""

    request: Short
    results: Names = ()
    note: Text = ""


class Withdraw(Arguments, frozen=True):
    """Withdraw a request you made or a delegation you gave."""

    ref: Annotated[Short, D(description="id of the request or delegation")]
    reason: Short


class Delegate(Arguments, frozen=True):
    """Give an assistant a bounded task. It works in a sandbox with a copy of your home and sees only this matter."""

    goal: Text
    inputs: Annotated[Names, D(description="files by path that the work starts from")] = ()
    constraints: Names = ()
    deliverables: Annotated[Names, D(description="paths of the files to make, in your home")] = ()
    work: Annotated[Short, D(description="the skill to follow, if one fits")] = ""
    period: Short = ""
    matter: Short = ""
    due: Short = ""
    request: Annotated[Short, D(description="id of the request this serves")] = ""


class AnswerQuestion(Arguments, frozen=True):
    """Answer an assistant's question; the work goes on in the same home."""

    question: Short
    text: Text


class ReviewWork(Arguments, frozen=True):
    """Decide on a submission after opening the files themselves: accept, revise (faults) or supplement (something
    missing)."""

    delegation: Short
    decision: Literal["accept", "revise", "supplement"]
    notes: Annotated[
        Text, D(description="for revise and supplement: each fault with file, place, found and expected")
    ] = ""
    files: Annotated[Names, D(description="for accept: the files accepted; empty means all submitted")] = ()


class SaveFile(Arguments, frozen=True):
    """Save a text file in your home. A new version is made; nothing is overwritten, nothing is shared."""

    path: Annotated[Short, D(description="path in your home, such as Notes/Todo.md")]
    text: Annotated[str, D(max_length=400_000)]


class Receive(Arguments, frozen=True):
    """Keep the files that came with a message or mail in the home of the person who wrote it. No model has this act."""


class AcceptFile(Arguments, frozen=True):
    """Accept exactly this version of a file. A second acceptance names the one it replaces."""

    file: Short
    replaces: Annotated[Short, D(description="id of the acceptance this one replaces")] = ""


class SignOff(Arguments, frozen=True):
    """Sign off the quality of exactly this version of a file, after opening it. Needed before a client may have it."""

    file: Short
    replaces: Short = ""


class Classify(Arguments, frozen=True):
    """Set a version's class, or release it to a client. Lowering needs authority."""

    file: Short
    level: Literal["public", "internal", "confidential", "restricted"]
    release_to: Annotated[Names, D(description="ids of clients this version may go to")] = ()


class ShareFile(Arguments, frozen=True):
    """Share exactly this version with people, a department, a matter's team, or everyone. It must have been
    accepted."""

    file: Short
    audience: Annotated[Names, D(description="person:<id>, department:<id>, matter:<id>, client:<id> or everyone")]


class Unshare(Arguments, frozen=True):
    """Take back a share you gave."""

    file: Short
    audience: Short


class Note(Arguments, frozen=True):
    """Keep something in memory: a commitment, discussion, open decision, a record about a colleague, an open
    question."""

    record: Literal["commitment", "discussion", "decision", "colleague", "question"]
    text: Text
    about: Annotated[Short, D(description="a person or the id of a thing")] = ""
    due: Short = ""
    matter: Short = ""


class CloseNote(Arguments, frozen=True):
    """Close a memory record that is done or settled."""

    record: Short
    note: Short = ""


class ChangeTeam(Arguments, frozen=True):
    """Add someone to the team of a matter you lead, or remove them."""

    matter: Short
    person: Short
    member: bool = True


class Attachment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file a client sends: text, or base64 for other bytes."""

    name: Annotated[str, D(max_length=200)]
    text: Annotated[str, D(max_length=2_000_000)] = ""
    base64: Annotated[str, D(max_length=4_000_000)] = ""


class ClientMail(Arguments, frozen=True):
    """Write to the firm. Attachments become files of the matter."""

    to: Names
    subject: Short
    text: Text
    attachments: tuple[Attachment, ...] = ()
    period: Annotated[Short, D(description="the period the documents are about, YYYY-MM or YYYY-MM-DD")] = ""
    in_reply_to: Short = ""
    matter: Short = ""
