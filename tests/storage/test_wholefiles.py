"""Files that are whole or not there, in folders that may hold anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.storage.wholefiles import write_whole


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_bytes(b"before")
    write_whole(place, b"after", mode=0o644)
    assert place.read_bytes() == b"after" and [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_link_under_the_name_it_writes_to_is_not_followed(tmp_path: Path) -> None:
    """What was there before stands, and so does what the link leads to."""
    place, victim = tmp_path / "a.json", tmp_path / "victim"
    place.write_bytes(b"before")
    victim.write_bytes(b"precious")
    (tmp_path / f".a.json.{os.getpid()}.part").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(place, b"after")
    assert (place.read_bytes(), victim.read_bytes()) == (b"before", b"precious")
