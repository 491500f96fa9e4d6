"""Evaluations, trials and reviews are kept apart from offices and from each other."""

from __future__ import annotations

import pytest

from services.storage.database import Database
from services.storage.documents import Document, Documents
from simulator.errors import UnknownReference


def test_a_document_is_stored_replaced_listed_and_removed(database: Database) -> None:
    trials = Documents(database, "trials")
    for name in ("run1/b", "run1/a", "run_1/c", "Run1/d", "run1%"):
        trials.put(Document(name, 5, name.encode() + b"\x00\xff"))
    trials.put(Document("run1/a", 6, b"again"))
    assert trials.get("run1/a") == Document("run1/a", 6, b"again")
    assert [d.id for d in trials.all("run1/")] == ["run1/a", "run1/b"]
    assert [d.id for d in trials.all("run_")] == ["run_1/c"]
    assert [d.id for d in trials.all()] == ["Run1/d", "run1%", "run1/a", "run1/b", "run_1/c"]
    trials.remove("run1/a")
    trials.remove("run1/a")
    with pytest.raises(UnknownReference, match="'run1/a' among the trials"):
        trials.get("run1/a")


def test_shelves_do_not_see_each_other(database: Database) -> None:
    Documents(database, "reviews").put(Document("x", 1, b"r"))
    assert list(Documents(database, "evaluations").all()) == []
    assert Documents(database, "reviews").get("x").body == b"r"
