"""Whether something has changed for a person: told from their view alone, so that it tells of nothing else."""

from __future__ import annotations

import msgspec

from simulator.canonical import canonical, sha256
from simulator.view import View


class Changed(msgspec.Struct, frozen=True):
    """That something has changed for a person: how much they see now. `mark` is the same as long as nothing changes."""

    mark: str
    sees: dict[str, int]


def mark(seen: View) -> Changed:
    """Return the mark of what the subject sees now."""
    counts = seen.counts()
    rooms = [(r.id, r.members, [m.id for m in seen.messages(r.id, 1)]) for r in seen.rooms()]
    files = [(f.path, f.ref.file, f.versions) for f in seen.files()]
    work = [(r.id, r.state) for r in seen.requests()], [(d.id, d.state, len(d.rounds)) for d in seen.delegations()]
    mails = [m.id for m in seen.mails(1)]
    notices = [n.id for n in seen.notices()[-1:]]
    calendar = [(e.id, e.start, e.answers) for e in seen.calendar()]
    rest = [m.id for m in seen.memories()], [m.id for m in seen.meetings()], [p.id for p in seen.people()]
    return Changed(sha256(canonical((counts, rooms, files, work, mails, notices, calendar, rest)))[:24], counts)
