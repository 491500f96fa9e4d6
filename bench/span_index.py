"""When each span was first there: one pass over an office's log, its text bodies and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from bench.spans import spans
from services.documents.renderer import DocumentRenderer
from simulator.engine.history import Log
from simulator.engine.segment import decode_tree
from simulator.errors import CorruptStore
from simulator.ports import BlobStore
from simulator.records import Body

Bodies = Callable[[Body], str]
_BYTES = ("blob", "home")
"""Fields of a payload that refer to file bytes, not to text."""


class SpanIndex:
    """Knows the revision at which a span first occurred, in an event or in a file that an event names."""

    def __init__(self, log: Log, blobs: BlobStore, bodies: Bodies) -> None:
        self._blobs = blobs
        self._bodies = bodies
        self._render = DocumentRenderer().render
        self._first: dict[str, int] = {}
        self._read: set[str] = set()
        for revision, raw in log.events():
            event = msgspec.json.decode(raw)
            for text in self._texts(event):
                self._note(text, revision)
            self._files(event["payload"], revision)

    def first(self, span: str) -> int | None:
        """Return the revision at which a span was first there, or None if it never was."""
        return self._first.get(span)

    def _note(self, text: str, revision: int) -> None:
        for span in spans(text):
            self._first.setdefault(span, revision)

    def _files(self, payload: dict[str, Any], revision: int) -> None:
        kind = str(payload["kind"]).partition("/")[0]
        if kind == "file.saved":
            self._blob(payload["version"]["blob"]["sha256"], payload["path"], revision)
        elif kind == "office.forked" and payload.get("blob"):
            self._blob(payload["blob"]["sha256"], "", revision)
        elif kind == "skill.shelved":
            for path, blob, _ in payload["files"]:
                self._blob(blob["sha256"], path, revision)
        elif kind == "system.added":
            for name in ("definition", "state"):
                self._blob(payload["system"][name]["sha256"], f"{name}.json", revision)
        elif kind == "system.called":
            self._blob(payload["state"]["sha256"], "state.json", revision)
        elif kind == "segment.landed":
            for entry in decode_tree(self._blobs.get(payload["home"]["sha256"])):
                self._blob(entry.blob.sha256, entry.path, revision)

    def _blob(self, digest: str, path: str, revision: int) -> None:
        if digest not in self._read:
            self._read.add(digest)
            self._note(self._render(self._blobs.get(digest), "", path.rpartition("/")[2]), revision)

    def _texts(self, value: Any) -> Iterator[str]:
        """Yield every text of an event, the bodies kept elsewhere included."""
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for each in value:
                yield from self._texts(each)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key in _BYTES:
                    continue
                if isinstance(each, dict) and len(str(each.get("sha256", ""))) == 64 and "size" in each:
                    yield from self._body(each)
                yield from self._texts(each)

    def _body(self, value: dict[str, Any]) -> Iterator[str]:
        try:
            yield self._bodies(Body("", value["sha256"], int(value["size"])))
        except (CorruptStore, KeyError):
            return  # file bytes in a place that this index does not know: read where they are saved
