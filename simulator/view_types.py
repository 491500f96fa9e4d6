"""What a view shows where the stored record would tell too much: files, colleagues, search hits."""

from __future__ import annotations

import msgspec

from simulator.ports import Blob
from simulator.records import FileRef, Level


class SeenFile(msgspec.Struct, frozen=True):
    """One readable version of a file, as the subject sees it. `versions` are the readable ones, in order.

    `path` is the absolute display path; `reason` why it may be read.
    """

    ref: FileRef
    path: str
    owner: str
    space: str
    matter: str
    blob: Blob
    media_type: str
    author: str
    at: int
    level: Level
    walls: tuple[str, ...]
    release: tuple[str, ...]
    delegation: str
    versions: tuple[int, ...]
    reason: str


class Colleague(msgspec.Struct, frozen=True):
    """A line of the people directory. `authority` is told among staff only."""

    id: str
    name: str
    title: str
    kind: str
    department: str
    client: str
    email: str
    manager: str
    authority: tuple[str, ...]
    active: bool


class Hit(msgspec.Struct, frozen=True):
    """Something found. `kind` is file, message, mail, request or meeting; `ref` its id, of a file its display path."""

    kind: str
    ref: str
    at: int
    title: str
    snippet: str
