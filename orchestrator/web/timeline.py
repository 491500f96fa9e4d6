"""An office as of any revision, fast: its log is read once, and a snapshot is kept every so many events (DESIGN 3).

Offices are values in persistent maps, so snapshots share what did not change between them. Memory is bounded: where there
would be too many snapshots, every other one is dropped and they lie twice as far apart. Until the log has been read once,
answers come from the stored checkpoints.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator

from orchestrator.moments import instant
from orchestrator.web.tally import Tally
from simulator.engine.history import Log, as_of
from simulator.errors import OfficeTownError, UnknownReference, UsageError
from simulator.events import Event, decode
from simulator.fold import apply
from simulator.office import Office

EVERY = 200
KEPT = 500
RECENT = 12


class Timeline:
    """One office's past and present. Thread-safe; `every` events between snapshots, at most `kept` of them.

    The log is read ahead `rest_s` seconds after the first answer, so that the rest of a page goes before it. `settled` is
    called then: what is in memory stays for as long as the office is open.
    """

    def __init__(
        self, reader: Log, every: int = EVERY, kept: int = KEPT, settled: Callable[[], None] = lambda: None, rest_s: float = 0.0
    ) -> None:  # fmt: skip
        self._reader = reader
        self._every = every
        self._kept = kept
        self._settled = settled
        self._rest_s = rest_s
        self._reading = threading.Lock()
        self._looking = threading.Lock()
        self._office = Office()
        self._snapshots: list[Office] = []
        self._tally = Tally()
        self._recent: OrderedDict[int, Office] = OrderedDict()
        self._thread: threading.Thread | None = None

    @property
    def head(self) -> int:
        """Revision of the last committed event. Raises UnknownReference where the office is gone."""
        return self._reader.head

    @property
    def snapshots(self) -> int:
        """How many snapshots are kept in memory now."""
        return len(self._snapshots)

    # -- reading ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have the log read once, in a thread of its own. The first answer goes before, so that nobody waits for both."""
        with self._looking:
            if self._thread is not None:
                return
            self._thread = threading.Timer(self._rest_s, self._read_ahead)
            self._thread.name, self._thread.daemon = "timeline", True
        self._thread.start()

    def _read_ahead(self) -> None:
        try:
            self.read_on()
        except OfficeTownError:
            # Whoever asks next reads on from here and is told what is wrong.
            return
        self._settled()

    def read_on(self) -> Tally:
        """Read what has been committed since; return what is counted. Waits for a reading under way."""
        with self._reading:
            for _, data in self._reader.events(self._office.revision):
                self._take(decode(data))
        return self._tally

    def _take(self, event: Event) -> None:
        office = apply(self._office, event)
        self._tally.add(event, office)
        with self._looking:
            self._office = office
            if not self._snapshots or office.revision - self._snapshots[-1].revision >= self._every:
                self._snapshots.append(office)
                if len(self._snapshots) > self._kept:
                    self._snapshots = self._snapshots[::2]
                    self._every *= 2

    # -- looking ------------------------------------------------------------------------------------------------------

    def office(self, revision: int | None = None) -> Office:
        """Return the office as of a revision, the head without one. Raises UnknownReference for one there is not."""
        head = self.head
        wanted = head if revision is None else revision
        if not 1 <= wanted <= head:
            raise UnknownReference(f"The office has revisions 1 to {head}; there is no revision {wanted} yet.")
        found = self._near(wanted)
        if found is not None and found.revision == wanted:
            return found
        if found is None or (wanted > self._office.revision and self._reading.locked()):
            office = as_of(self._reader, wanted)
        elif wanted > self._office.revision:
            self.read_on()
            return self.office(wanted)
        else:
            office = found
            for _, data in self._reader.events(office.revision, wanted):
                office = apply(office, decode(data))
        with self._looking:
            self._recent[wanted] = office
            while len(self._recent) > RECENT:
                self._recent.popitem(last=False)
        self.begin()
        return office

    def _near(self, revision: int) -> Office | None:
        """Return the nearest office at or before a revision that is in memory."""
        with self._looking:
            recent = self._recent.get(revision)
            if recent is not None:
                self._recent.move_to_end(revision)
                return recent
            if self._office.revision and self._office.revision <= revision:
                return self._office
            place = bisect_right(self._snapshots, revision, key=lambda o: o.revision)
            return self._snapshots[place - 1] if place else None

    def walk(self, after: int, upto: int) -> Iterator[tuple[Event, Office]]:
        """Yield the events in (after, upto] with the office after each."""
        office = self.office(after) if after else Office()
        for _, data in self._reader.events(after, upto):
            event = decode(data)
            office = apply(office, event)
            yield event, office

    # -- moments ------------------------------------------------------------------------------------------------------

    def revision_at(self, text: str) -> int:
        """Return the revision that a person means: a number, `YYYY-MM-DD` (its end), `YYYY-MM-DD HH:MM`; empty: now.

        Raises UsageError for what is no moment, UnknownReference for one before the office opened or past its log.
        """
        text = text.strip()
        if not text:
            return self.head
        if text.isascii() and text.isdigit():
            return self.office(int(text)).revision
        return self.at_instant(self._instant(text), text)

    def at_instant(self, until: int, said: str = "") -> int:
        """Return the last revision at or before a simulated instant."""
        low, high = 0, self.head
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._time(middle) <= until else (low, middle - 1)
        if not low:
            raise UnknownReference(f"The office had not opened at {said or until}.")
        return low

    def _time(self, revision: int) -> int:
        times = self._tally.times
        if revision <= len(times):
            return times[revision - 1]
        return next(decode(data).sim_time for _, data in self._reader.events(revision - 1, revision))

    def _instant(self, text: str) -> int:
        try:
            return instant(self.office(1), text)
        except (OverflowError, ValueError):
            raise UsageError(f"{text!r} is no moment that an office could have.") from None
