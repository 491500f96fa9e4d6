"""What is open of each office: its record, its timeline, its texts. A few offices are kept open, the oldest is let go."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from orchestrator.compose import House
from orchestrator.web.timeline import Timeline
from services.storage.journal import OfficeRow
from services.storage.reader import JournalReader
from simulator.engine.environment import Bodies
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.ports import BlobStore, Renderer
from simulator.records import Body

OPEN = 8
REST_S = 1.5
"""In which a browser gets the rest of the first page, before the log is read ahead."""


class Texts(Bodies):
    """Texts by reference, with a bounded cache that several threads may use."""

    def __init__(self, reader: JournalReader) -> None:
        super().__init__(reader)
        self._turn = threading.Lock()

    def __call__(self, body: Body) -> str:
        """Return the text of a body."""
        if not body.sha256:
            return body.text
        with self._turn:
            return super().__call__(body)


class Book:
    """One office, open for reading. `settled` and `rest_s` are the timeline's."""

    def __init__(
        self, row: OfficeRow, reader: JournalReader, blobs: BlobStore, renderer: Renderer,
        settled: Callable[[], None] = lambda: None, rest_s: float = 0.0,
    ) -> None:  # fmt: skip
        self.row = row
        self.reader = reader
        self.blobs = blobs
        self.renderer = renderer
        self.texts = Texts(reader)
        self.timeline = Timeline(reader, settled=settled, rest_s=rest_s)

    @property
    def id(self) -> str:
        return self.row.id

    def at(self, moment: str = "") -> Office:
        """Return the office as of a moment: a revision, a date, a date and time; now when it is empty."""
        return self.timeline.office(self.timeline.revision_at(moment))


class Shelf:
    """The books that are open. Thread-safe. `settled` is called when one of them has been read whole."""

    def __init__(self, house: House, most: int = OPEN, settled: Callable[[], None] = lambda: None) -> None:
        self._house = house
        self._most = most
        self._settled = settled
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self) -> tuple[OfficeRow, ...]:
        """Return every office there is, the oldest first."""
        return self._house.offices.list()

    def open(self, reference: str) -> Book:
        """Return an office's book: by id, name, or beginning of an id. Raises UnknownReference or UsageError."""
        with self._lock:
            book = self._books.get(reference)
            if book is not None:
                self._books.move_to_end(reference)
                return book
        row = self._house.offices.find(reference)
        with self._lock:
            book = self._books.get(row.id)
            if book is None:
                book = Book(row, self._house.offices.read(row.id), self._house.blobs, self._house.renderer, self._settled, REST_S)
                self._books[row.id] = book
                while len(self._books) > self._most:
                    self._books.popitem(last=False)
            return book

    def exactly(self, office_id: str) -> Book:
        """Return the book of the office with exactly this id. Raises UnknownReference, which names no other office."""
        if office_id not in self._books and all(row.id != office_id for row in self.rows()):
            raise UnknownReference("There is no such office.")
        return self.open(office_id)

    def hold(self, book: Book) -> None:
        """Keep a book open that was made elsewhere, under its office's id."""
        with self._lock:
            self._books[book.id] = book

    def forget(self, office_id: str) -> None:
        """Close the book of an office that is gone."""
        with self._lock:
            self._books.pop(office_id, None)
