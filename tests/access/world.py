"""A small firm to try rights on, grown by events: the people of the story, and those whom they must not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simulator.canonical import sha256
from simulator.events import (
    CalendarRules,
    ClientAdded,
    DelegationOpened,
    DepartmentAdded,
    EntryScheduled,
    Event,
    FileAccepted,
    FileClassified,
    FileRevoked,
    FileSaved,
    FileShared,
    MailSent,
    MatterOpened,
    MeetingEnded,
    MemoryNoted,
    MessagePosted,
    OfficeOpened,
    Payload,
    PersonAdded,
    RequestMade,
    RoomOpened,
    RoundOpened,
)
from simulator.fold import apply
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import (
    Acceptance,
    Body,
    CalendarEntry,
    ChatMessage,
    Client,
    Delegation,
    Department,
    FileRef,
    FileVersion,
    Grant,
    Level,
    Mail,
    Matter,
    Meeting,
    Memory,
    MemoryKind,
    Person,
    Request,
    Room,
)

MONDAY = 1_767_603_600
"""Monday 5 January 2026, 09:00 in London."""

RIVERBEND = "riverbend-close"
OAKRIDGE = "oakridge-audit"
TOOLING = "tooling"


def body(text: str) -> Body:
    return Body(text, size=len(text.encode()))


def text_of(item: Body) -> str:
    return item.text


def blob(text: str) -> Blob:
    data = text.encode()
    return Blob(sha256(data), len(data))


class World:
    """An office and the means to make things happen in it. Each event comes `step` seconds after the one before.

    Ids count each actor's own acts and nobody else's (RULE 8).
    """

    def __init__(self, office: Office | None = None) -> None:
        self.office = office if office is not None else Office()
        self.now = MONDAY
        self.step = 60
        self.hidden = False
        self._ids: dict[str, int] = {}

    def twin(self) -> World:
        """A second world with the same past."""
        other = World(self.office)
        other.now, other.step, other._ids = self.now, self.step, dict(self._ids)
        return other

    @contextmanager
    def out_of_sight(self) -> Iterator[None]:
        """What happens inside takes place between two events of the common story, whose times and ids stay."""
        now, step = self.now, self.step
        self.step, self.hidden = 1, True
        yield
        assert self.now < now + step, "more happened out of sight than fits between two events"
        self.now, self.step, self.hidden = now + step, step, False

    def do(self, payload: Payload, actor: str = "engine") -> Office:
        """Let `payload` happen."""
        event = Event(self.office.revision + 1, self.now, actor, "genesis", payload)  # type: ignore[arg-type]
        self.office = apply(self.office, event)
        self.now += self.step
        return self.office

    def id(self, actor: str) -> str:
        key = f"{actor}.hidden" if self.hidden else actor
        self._ids[key] = self._ids.get(key, 0) + 1
        return f"{key}.{self._ids[key]}.1"

    # -- files --------------------------------------------------------------------------------------------------------

    def save(
        self,
        owner: str,
        space: str,
        path: str,
        text: str = "words",
        *,
        file: str = "",
        level: Level = "internal",
        walls: Sequence[str] = (),
        release: Sequence[str] = (),
        sources: Sequence[FileRef] = (),
        author: str = "",
        matter: str = "",
        delegation: str = "",
    ) -> FileRef:
        """Save a new file, or a new version of `file`."""
        file_id = file or self.id(owner)
        old = self.office.files.get(file_id)
        number = len(old.versions) + 1 if old else 1
        version = FileVersion(
            number, blob(text), "text/plain", author or owner, "genesis", self.now, level, tuple(walls), tuple(release),
            tuple(sources), delegation,
        )  # fmt: skip
        self.do(FileSaved(file_id, space, path, owner, matter, version), owner)
        return FileRef(file_id, number)

    def again(self, ref: FileRef, text: str, *, level: Level = "internal", walls: Sequence[str] = ()) -> FileRef:
        """Save the next version of the file of `ref`."""
        file = self.office.files[ref.file]
        return self.save(file.owner, file.space, file.path, text, file=file.id, level=level, walls=walls)

    def share(self, ref: FileRef, audience: str, by: str = "") -> str:
        grant = self.id(by or self.office.files[ref.file].owner)
        owner = by or self.office.files[ref.file].owner
        self.do(FileShared(Grant(grant, ref.file, ref.version, audience, owner, self.now)), owner)
        return grant

    def revoke(self, grant: str) -> None:
        self.do(FileRevoked(grant, self.office.grants[grant].by))

    def accept(self, ref: FileRef, by: str, capacity: str = "accept") -> None:
        self.do(FileAccepted(Acceptance(self.id(by), ref.file, ref.version, by, self.now, capacity)), by)

    def classify(
        self, ref: FileRef, by: str, level: Level, walls: Sequence[str] = (), release: Sequence[str] = ()
    ) -> None:
        self.do(FileClassified(ref.file, ref.version, level, tuple(walls), tuple(release), by), by)

    # -- talk, work, memory -------------------------------------------------------------------------------------------

    def room(self, name: str, members: Sequence[str], matter: str = "", *, direct: bool = False) -> str:
        room = self.id(members[0])
        kind = "direct" if direct else "matter" if matter else "channel"
        self.do(RoomOpened(Room(room, name, kind, tuple(members), matter)))  # type: ignore[arg-type]
        return room

    def post(self, room: str, sender: str, text: str, cites: Sequence[FileRef] = ()) -> str:
        message = self.id(sender)
        self.do(MessagePosted(ChatMessage(message, room, sender, self.now, body(text), cites=tuple(cites))), sender)
        return message

    def mail(
        self,
        sender: str,
        to: Sequence[str],
        subject: str,
        attachments: Sequence[FileRef] = (),
        *,
        matter: str = "",
        external: bool = False,
        text: str = "",
    ) -> str:
        mail = self.id(sender)
        record = Mail(
            mail,
            mail,
            sender,
            tuple(to),
            (),
            subject,
            body(text or subject),
            self.now,
            tuple(attachments),
            external,
            matter,
        )
        self.do(MailSent(record), sender)
        return mail

    def meet(
        self, organizer: str, attendees: Sequence[str], title: str, matter: str = "", *, rule: str = "", hours: int = 2
    ) -> str:
        entry = self.id(organizer)
        record = CalendarEntry(
            entry, title, organizer, tuple(attendees), self.now + 3600 * hours, 30, rule=rule, matter=matter
        )
        self.do(EntryScheduled(record), organizer)
        return entry

    def held(self, entry: str, minutes: FileRef | None = None, present: Sequence[str] = ()) -> str:
        record = self.office.entries[entry]
        meeting = f"{entry}.met"
        self.do(
            MeetingEnded(
                Meeting(
                    meeting, entry, record.start, record.title, record.organizer, tuple(present) or record.attendees,
                    "held", minutes, 4, record.matter,
                )
            )
        )  # fmt: skip
        return meeting

    def request(
        self, asker: str, owner: str, outcome: str, matter: str = "", materials: Sequence[FileRef] = (), due: int = 0
    ) -> str:
        request = self.id(asker)
        record = Request(request, asker, owner, body(outcome), self.now, due, matter, materials=tuple(materials))
        self.do(RequestMade(record), asker)
        return request

    def delegate(
        self, principal: str, goal: str, matter: str = "", inputs: Sequence[FileRef] = (), **more: object
    ) -> str:
        delegation = self.id(principal)
        record = Delegation(
            delegation,
            principal,
            body(goal),
            self.now,
            matter=matter,
            inputs=tuple(inputs),
            **more,  # type: ignore[arg-type]
        )
        self.do(DelegationOpened(record), principal)
        self.do(RoundOpened(delegation, 1))
        return delegation

    def note(self, holder: str, kind: MemoryKind, text: str, **more: object) -> str:
        memory = self.id(holder)
        self.do(MemoryNoted(Memory(memory, holder, kind, body(text), self.now, **more)), holder)  # type: ignore[arg-type]
        return memory


def person(who: str, department: str, authority: str, clearance: Level, **more: object) -> PersonAdded:
    return PersonAdded(
        Person(
            who, who.capitalize(), "Professional", department=department, authority=tuple(authority.split()),
            clearance=clearance, email=f"{who}@juniper.example", **more,  # type: ignore[arg-type]
        )
    )  # fmt: skip


def contact(who: str, client: str) -> PersonAdded:
    return PersonAdded(Person(who, who.capitalize(), "Owner", "client", client=client, email=f"{who}@{client}.example"))


def juniper() -> World:
    """The firm: Elena, Daniel and Quinn on Riverbend; Nora on Oakridge; Dev on internal tooling; two clients."""
    world = World()
    world.do(OfficeOpened("Juniper", "juniper", 7, "1", CalendarRules()))
    for department in ("services", "assurance", "risk", "operations"):
        world.do(DepartmentAdded(Department(department, department.capitalize())))
    every = "delegate request accept quality_signoff client_release classify lead"
    world.do(person("elena", "services", every.replace("quality_signoff ", ""), "restricted"))
    world.do(person("daniel", "assurance", "delegate request accept client_release", "confidential", manager="elena"))
    world.do(person("quinn", "risk", "accept quality_signoff", "confidential"))
    world.do(person("dev", "operations", "delegate request", "internal", manager="elena"))
    world.do(person("nora", "assurance", every, "restricted", manager="elena"))
    world.do(person("zed", "assurance", every, "restricted", active=False))
    for client in ("riverbend", "oakridge"):
        world.do(ClientAdded(Client(client, client.capitalize())))
    for who, client in (("maya", "riverbend"), ("milo", "riverbend"), ("omar", "oakridge")):
        world.do(contact(who, client))
    world.do(MatterOpened(Matter(RIVERBEND, "Riverbend close", "riverbend", "elena", ("elena", "daniel", "quinn"))))
    world.do(MatterOpened(Matter(OAKRIDGE, "Oakridge audit", "oakridge", "nora", ("nora", "zed"))))
    world.do(MatterOpened(Matter(TOOLING, "Tooling", "", "dev", ("dev", "daniel"))))
    return world
