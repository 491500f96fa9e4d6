"""Where a poll stands: all that the carrier must remember between two polls, as bounded JSON."""

from __future__ import annotations

import hashlib

import msgspec

from services.carriers.rocketchat.wire import EPOCH

_SEEN, _SAID, _TRIES = 600, 400, 50


class Cursor(msgspec.Struct):
    """`since` is the newest change that was read of each room, by the server's clock, and `count` how many messages the
    room had then; `seen` are the last messages of people (author, last edit), so that an edit or deletion can be told from
    a new message and has an author; `said` are hashes of what was said once and need not be said again; `tries` counts
    the attempts to fetch a file; `turn` is the room after which the quiet ones go on."""

    since: dict[str, str] = msgspec.field(default_factory=dict)
    count: dict[str, int] = msgspec.field(default_factory=dict)
    seen: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    said: dict[str, int] = msgspec.field(default_factory=dict)
    tries: dict[str, int] = msgspec.field(default_factory=dict)
    turn: str = ""

    def remember(self, message: str, author: str, edited: str) -> None:
        """Note a person's message, the newest last."""
        self.seen.pop(message, None)
        self.seen[message] = (author, edited)
        _trim(self.seen, _SEEN)

    def once(self, key: str) -> bool:
        """Whether this is the first time that `key` is said."""
        digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
        known = digest in self.said
        self.said.pop(digest, None)
        self.said[digest] = 1
        _trim(self.said, _SAID)
        return not known

    def tried(self, file: str) -> int:
        """Count an attempt and return how many there were."""
        self.tries[file] = self.tries.get(file, 0) + 1
        _trim(self.tries, _TRIES)
        return self.tries[file]

    def keep_only(self, rooms: set[str]) -> None:
        """Forget rooms that are gone."""
        for kept in (self.since, self.count):
            for room in kept.keys() - rooms:
                del kept[room]

    def start(self, room: str) -> str:
        """Return from when on a room is read."""
        return self.since.get(room, EPOCH)

    def text(self) -> str:
        """Return the cursor as text."""
        return msgspec.json.encode(self).decode()


def read_cursor(text: str) -> Cursor | None:
    """Return a cursor; None for what is none. Empty text is a new one."""
    if not text:
        return Cursor()
    try:
        return msgspec.json.decode(text, type=Cursor)
    except msgspec.DecodeError:
        return None


def _trim(kept: dict[str, object] | dict[str, int] | dict[str, tuple[str, str]], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
