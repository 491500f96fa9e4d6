"""One office's carriers at work: what leaves goes to its server, what people do there comes in (DESIGN 9, RULE 4).

A run never depends on a carrier: what cannot be delivered waits in the outbox, what cannot be read is read later. Cursors
are kept in the office's record once everything before them is in its log, so a restart loses nothing; what is read twice
has a key that has come in before, and is not let in again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from services.storage.outbox import Delivery
from services.storage.writer import StoredJournal
from simulator.arriving import Arrival
from simulator.canonical import clean_text
from simulator.carrying import (
    CARRIER_OF,
    BounceOut,
    CalendarCarrier,
    Carrier,
    Chat,
    Directory,
    EntryOut,
    Item,
    MailCarrier,
    MailOut,
    MemberOut,
    PostOut,
    Projection,
    RoomOut,
    decode_item,
    directory,
)
from simulator.engine.inbound import Doorstep
from simulator.errors import CarrierError, OfficeTownError
from simulator.events import Event, PersonAdded
from simulator.office import Office
from simulator.ports import BlobStore, InboundItem
from simulator.records import Body
from simulator.translating import Remark, Translator

_REMARKS = 200


class Carriers(msgspec.Struct, frozen=True):
    """The carriers an office has. `tags` names the server of each; `files` takes the mail that leaves the firm where no
    mail server is set up."""

    files: MailCarrier
    chat: Chat | None = None
    mail: MailCarrier | None = None
    calendar: CalendarCarrier | None = None
    tags: Mapping[str, str] = {}

    def named(self) -> tuple[tuple[str, Carrier], ...]:
        """Return the servers that are set up, by what they are for."""
        all_three: tuple[tuple[str, Carrier | None], ...] = (
            ("chat", self.chat), ("mail", self.mail), ("calendar", self.calendar),
        )  # fmt: skip
        return tuple((name, carrier) for name, carrier in all_three if carrier is not None)

    def targets(self) -> dict[str, str]:
        """Return the tag of each server that is set up, as a projection wants them."""
        return {name: self.tags[name] for name, _ in self.named()}


class Standing(msgspec.Struct, frozen=True):
    """How a carrier does: its server's name and its last fault in plain words, empty while all is well."""

    what: str
    server: str
    fault: str = ""


class Desk:
    """Delivers, polls and provisions for one office. Several threads may use it; it does one thing at a time.

    It is an `Observer` of the engine, so that it knows the office as it is committed. `wake` is called when something was
    laid on the doorstep.
    """

    def __init__(
        self,
        journal: StoredJournal,
        office: Office,
        carriers: Carriers,
        projection: Projection,
        doorstep: Doorstep,
        blobs: BlobStore,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._journal = journal
        self._office = office
        self._carriers = carriers
        self._projection = projection
        self._doorstep = doorstep
        self._blobs = blobs
        self.wake = wake
        self._turn = threading.Lock()
        self._listed: tuple[object, Directory] | None = None
        self._provisioned: dict[str, Directory] = {}
        self._awaited: dict[str, tuple[str, dict[str, str]]] = {}
        """By carrier: the cursor to keep, and key -> person of what must be in the log before."""
        self._faults: dict[str, str] = {}
        self.remarks: deque[str] = deque(maxlen=_REMARKS)
        """What was seen and not let in, latest last, in plain words."""

    @property
    def people(self) -> Directory:
        """The office's accounts as of its last commit."""
        known = self._office.people
        if self._listed is None or self._listed[0] is not known:
            self._listed = (known, directory(self._office, self._journal.office_id))
        return self._listed[1]

    @property
    def now(self) -> int:
        """The simulated instant of the office's last commit."""
        return self._office.now

    def standing(self) -> tuple[Standing, ...]:
        """Return how each carrier does, for whoever watches."""
        return tuple(Standing(what, c.name, self._faults.get(what, "")) for what, c in self._carriers.named())

    def event(self, event: Event, office: Office) -> None:
        """Keep the office as it is committed; whoever joins is provisioned before anything else is delivered."""
        self._office = office
        if isinstance(event.payload, PersonAdded):
            self._provisioned.clear()

    # -- out

    def deliver(self, delivery: Delivery) -> None:
        """Deliver one item: the outbox's `Carrier`."""
        key, kind = delivery.item.key, delivery.item.kind
        what = CARRIER_OF[kind]
        tag = self._carriers.targets().get(what)
        if "/" not in key.split(":", 1)[0]:
            self._hand(decode_item(delivery.item), delivery, self._carriers.files)
            return
        carrier = dict(self._carriers.named()).get(what)
        if carrier is None or not key.startswith(f"{tag}/"):
            raise CarrierError(f"It is for a {what} server that is not set up now; it waits until it is again.")
        with self._turn:
            try:
                self._ready(what, carrier)
                self._hand(decode_item(delivery.item), delivery, self._carriers.mail)
            except CarrierError as fault:
                self._faults[what] = str(fault)
                raise
            self._faults.pop(what, None)

    def _hand(self, item: Item, delivery: Delivery, mail: MailCarrier | None) -> None:
        """Give an item to the carrier that its kind is for; the caller knows that there is one."""
        chat, calendar = self._carriers.chat, self._carriers.calendar
        if isinstance(item, MailOut) and mail is not None:
            mail.send(delivery.item.key, item, self._text(item.mail.body), delivery.again)
        elif isinstance(item, BounceOut) and delivery.item.kind == "refusal" and chat is not None:
            chat.refuse(item)
        elif isinstance(item, BounceOut) and mail is not None:
            mail.bounce(item)
        elif isinstance(item, PostOut) and chat is not None:
            chat.post(delivery.item.key, item, self._text(item.message.body), delivery.again)
        elif isinstance(item, RoomOut) and chat is not None:
            chat.open_room(item)
        elif isinstance(item, MemberOut) and chat is not None:
            chat.change_member(item)
        elif isinstance(item, EntryOut) and calendar is not None:
            calendar.put(item)

    def _text(self, body: Body) -> str:
        return self._journal.body(body.sha256) if body.sha256 else body.text

    def _ready(self, what: str, carrier: Carrier) -> None:
        """Make the accounts that are missing, once for each directory."""
        people = self.people
        if self._provisioned.get(what) != people:
            carrier.provision(people)
            self._provisioned[what] = people

    # -- in

    def poll(self) -> int:
        """Ask each carrier what people did there; return how many things were laid on the doorstep."""
        came = 0
        for what, carrier in self._carriers.named():
            with self._turn:
                try:
                    came += self._poll(what, carrier)
                except CarrierError as fault:
                    self._faults[what] = str(fault)
                else:
                    self._faults.pop(what, None)
        if came:
            self.wake()
        return came

    def _poll(self, what: str, carrier: Carrier) -> int:
        tag = self._carriers.tags[what]
        if not self._settled(what, tag):
            return 0
        self._ready(what, carrier)
        before = self._journal.cursor(tag)
        polled = carrier.poll(before)
        self.remarks.extend(polled.remarks)
        translate = Translator(self._office, self._projection.known, self._blobs)
        awaited: dict[str, str] = {}
        for arrival in polled.arrivals:
            item = self._translated(translate, arrival)
            if item is not None:
                awaited[item.key] = item.actor
                self._doorstep.put(item)
        if awaited:
            self._awaited[what] = (polled.cursor, awaited)
        elif polled.cursor != before:
            self._journal.set_cursor(tag, polled.cursor)
        return len(awaited)

    def _translated(self, translate: Translator, arrival: Arrival) -> InboundItem | None:
        if f"in:{clean_text(arrival.key)}" in self._office.counts:
            return None
        item = translate(arrival)
        if isinstance(item, Remark):
            self.remarks.append(item.text)
            return None
        return item

    def _settled(self, what: str, tag: str) -> bool:
        """Whether all that the last poll brought is in the log; then its cursor is kept."""
        if what not in self._awaited:
            return True
        cursor, awaited = self._awaited[what]
        office = self._office
        for key, actor in awaited.items():
            person = office.people.get(actor)
            if f"in:{key}" not in office.counts and person is not None and person.active:
                return False
        self._journal.set_cursor(tag, cursor)
        del self._awaited[what]
        return True

    def close(self) -> None:
        """Keep the cursors of what has come in, and let the carriers go."""
        with self._turn:
            for what, carrier in self._carriers.named():
                try:
                    self._settled(what, self._carriers.tags[what])
                except OfficeTownError:
                    # The record cannot be written: what was read comes in again under keys that are known.
                    self._awaited.pop(what, None)
                carrier.close()
