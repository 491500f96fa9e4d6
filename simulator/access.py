"""Access, the one question: `can(subject, action, target, office)`. Default deny (DESIGN 4, RULES 26 to 29).

Works on any revision's office. The rules themselves are in `access_files` (files), `access_publish` (giving to others)
and `access_records` (everything else); each is a function of (office, person, subject, target).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from simulator import access_files as files
from simulator import access_publish as publish
from simulator import access_records as records
from simulator.access_base import (
    NOT_YOURS,
    RULES_VERSION,
    Action,
    Decision,
    Reclass,
    Share,
    Subject,
    active_person,
    as_subject,
    deny,
    in_audience,
    inherited,
    recipients,
)
from simulator.access_publish import held_sources, publish_refusals, telling_refusals
from simulator.office import Office
from simulator.records import FileRef, Person

__all__ = [
    "NOT_YOURS", "RULES_VERSION", "Action", "Decision", "Entitled", "Reclass", "Share", "Subject", "can",
    "held_sources", "in_audience", "inherited", "publish_refusals", "recipients", "telling_refusals", "who_can",
]  # fmt: skip

Rule = Callable[[Office, Person, Subject, Any], Decision]

RULES: dict[Action, Rule] = {
    "read": files.read,
    "list": files.list_space,
    "create": files.create,
    "deposit": files.deposit,
    "save": files.save,
    "accept": files.accept,
    "quality_signoff": files.quality_signoff,
    "share": publish.share,
    "classify": files.classify,
    "read_room": records.read_room,
    "post_room": records.post_room,
    "read_message": records.read_message,
    "read_mail": records.read_mail,
    "read_entry": records.read_entry,
    "read_meeting": records.read_meeting,
    "read_notice": records.read_notice,
    "read_request": records.read_request,
    "read_delegation": records.read_delegation,
    "read_memory": records.read_memory,
    "know": records.know,
    "request": records.request,
    "delegate": records.delegate,
    "answer": records.decide,
    "review": records.decide,
    "use_system": records.use_system,
}
"""Action -> its rule. Targets: `read`, `accept`, `quality_signoff` a FileRef; `list`, `create`, `deposit` a space;
`save` a file id; `share` a Share; `classify` a Reclass; `read_notice` a Notice; `know` `person:<id>`, `client:<id>` or
`matter:<id>`; `request` a person's id; `delegate` a matter's id or ''; the rest the id of what they name."""


def can(subject: Subject | str, action: Action, target: Any, office: Office) -> Decision:
    """Decide whether `subject` may do `action` with `target` in `office`, and say why.

    Unknown and inactive people, unknown actions and unknown targets are refused, never an error.
    """
    who = as_subject(subject)
    person = active_person(office, who.person)
    rule = RULES.get(action)
    if person is None or rule is None:
        return deny()
    return rule(office, person, who, target)


class Entitled(msgspec.Struct, frozen=True):
    """One answer to "who could see this": a person, why, and what of it they merely hold a copy of."""

    person: str
    reason: str
    copy: FileRef | None = None


def who_can(office: Office, ref: FileRef) -> tuple[Entitled, ...]:
    """Return who may read a version, then who holds a copy of it that revocation did not reach (RULE 27).

    A plain loop over people and files, for audits; it reads no index and no cache.
    """
    found = []
    for person in sorted(office.people):
        decision = can(person, "read", ref, office)
        if decision.allowed:
            found.append(Entitled(person, decision.reason))
    for file in sorted(office.files.values(), key=lambda f: f.id):
        owner = active_person(office, file.owner)
        if owner is None:
            continue
        for version in file.versions:
            copy = FileRef(file.id, version.number)
            if copy != ref and ref in held_sources(office, owner, copy):
                found.append(Entitled(owner.id, "holds a copy made while entitled", copy))
    return tuple(found)
