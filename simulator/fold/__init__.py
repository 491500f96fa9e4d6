"""The fold: `apply(office, event) -> office` is the only thing that makes a new office (DESIGN 3). Pure and fast."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from simulator import events as e
from simulator.errors import CorruptStore
from simulator.fold import engine, files, structure, talk, work
from simulator.fold.base import put
from simulator.office import Office

FOLD_VERSION = "2"
"""Checkpoints are keyed by this; raise it whenever a handler's result changes (RULE 21)."""

HANDLERS: dict[type[e.Payload], Callable[[Office, e.Event, Any], None]] = {
    e.OfficeOpened: structure.opened,
    e.OfficeForked: structure.forked,
    e.DepartmentAdded: structure.department_added,
    e.PersonAdded: structure.person_added,
    e.ClientAdded: structure.client_added,
    e.MatterOpened: structure.matter_opened,
    e.MemberAdded: structure.member_added,
    e.MemberRemoved: structure.member_removed,
    e.ClearanceSet: structure.clearance_set,
    e.DemandSet: engine.demand_set,
    e.SkillShelved: structure.skill_shelved,
    e.SystemAdded: structure.system_added,
    e.SystemCalled: work.system_called,
    e.FileSaved: files.saved,
    e.FileAccepted: files.accepted,
    e.FileShared: files.shared,
    e.FileRevoked: files.revoked,
    e.FileClassified: files.classified,
    e.RoomOpened: talk.room_opened,
    e.RoomJoined: talk.room_joined,
    e.RoomLeft: talk.room_left,
    e.MessagePosted: talk.message_posted,
    e.MailSent: talk.mail_sent,
    e.EntryScheduled: talk.entry_scheduled,
    e.EntryAnswered: talk.entry_answered,
    e.EntryMoved: talk.entry_moved,
    e.EntryCancelled: talk.entry_cancelled,
    e.OccurrenceBegan: talk.occurrence_began,
    e.MeetingEnded: talk.meeting_ended,
    e.NoticeGiven: talk.notice_given,
    e.RequestMade: work.request_made,
    e.RequestAnswered: work.request_answered,
    e.DelegationOpened: work.delegation_opened,
    e.RoundOpened: work.round_opened,
    e.SegmentLanded: work.segment_landed,
    e.QuestionAsked: work.question_asked,
    e.QuestionAnswered: work.question_answered,
    e.WorkSubmitted: work.work_submitted,
    e.WorkReviewed: work.work_reviewed,
    e.DelegationWithdrawn: work.delegation_withdrawn,
    e.MemoryNoted: engine.memory_noted,
    e.MemoryClosed: engine.memory_closed,
    e.LookedInto: engine.looked_into,
    e.ActivationStarted: engine.activation_started,
    e.ActivationLanded: engine.activation_landed,
    e.SessionOpened: engine.session_opened,
    e.StimulusArrived: engine.stimulus_arrived,
    e.TimerSet: engine.timer_set,
    e.InboundArrived: engine.inbound_arrived,
    e.RoleTaken: engine.role_taken,
    e.RoleReturned: engine.role_returned,
    e.ConflictRaised: engine.conflict_raised,
}


def apply(office: Office, event: e.Event) -> Office:
    """Return the office after `event`.

    Raises:
        CorruptStore: the event does not follow the office's last one.
    """
    if event.revision != office.revision + 1 or event.sim_time < office.now:
        raise CorruptStore(
            f"Event {event.revision} at {event.sim_time} does not follow revision {office.revision} at {office.now}: "
            "the log has a gap or its order was changed. Restore the office from a pack."
        )
    new = copy.copy(office)
    put(new, revision=event.revision, now=event.sim_time, news=(), woken=())
    HANDLERS[type(event.payload)](new, event, event.payload)
    return new


def fold(events: Iterable[e.Event], office: Office | None = None) -> Office:
    """Apply `events` in order, from an empty office unless one is given."""
    state = Office() if office is None else office
    for event in events:
        state = apply(state, event)
    return state
