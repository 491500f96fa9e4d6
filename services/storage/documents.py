"""Evaluations, trials and reviews: bytes under an id, with the time they were made. No office owns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from sqlalchemy import delete, insert, select

from services.storage.database import Database
from services.storage.tables import metadata
from simulator.errors import UnknownReference

Shelf = Literal["evaluations", "trials", "reviews"]


class Document(msgspec.Struct, frozen=True):
    """One stored document; `created` is in seconds since the epoch."""

    id: str
    created: int
    body: bytes


class Documents:
    """The documents of one shelf."""

    def __init__(self, database: Database, shelf: Shelf) -> None:
        self._database = database
        self._shelf = shelf
        self._table = metadata.tables[shelf]

    def put(self, document: Document) -> None:
        """Store a document, in place of one with the same id."""
        with self._database.writing() as connection:
            connection.execute(delete(self._table).where(self._table.c.id == document.id))
            connection.execute(insert(self._table), msgspec.structs.asdict(document))

    def get(self, document_id: str) -> Document:
        """Return a document. Raises UnknownReference."""
        with self._database.reading() as connection:
            row = connection.execute(select(self._table).where(self._table.c.id == document_id)).first()
        if row is None:
            raise UnknownReference(f"There is nothing under {document_id!r} among the {self._shelf}.")
        return Document(row.id, row.created, row.body)

    def all(self, prefix: str = "") -> Iterator[Document]:
        """Yield the documents whose ids begin with `prefix`, ordered by id."""
        query = (
            select(self._table).where(self._table.c.id.startswith(prefix, autoescape=True)).order_by(self._table.c.id)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            # SQLite's LIKE does not tell capitals apart.
            if row.id.startswith(prefix):
                yield Document(row.id, row.created, row.body)

    def remove(self, document_id: str) -> None:
        """Remove a document if it is there."""
        with self._database.writing() as connection:
            connection.execute(delete(self._table).where(self._table.c.id == document_id))
