"""Removing file bytes that nothing names any more: the one way a blob ever leaves (RULE 25)."""

from __future__ import annotations

from collections.abc import Iterable

from services.storage.blobs import FileBlobs
from services.storage.journal import Offices

A_DAY = 24 * 3600


def collect(offices: Offices, blobs: FileBlobs, now: float, keep: Iterable[str] = ()) -> tuple[int, int]:
    """Remove what no office names and nobody has put for a day; return (files, bytes) removed.

    Holds all offices meanwhile; raises OfficeBusy where one is running. `keep` are hashes that others name (packages,
    evaluations). `now` is in seconds since the epoch.
    """
    with offices.all_held() as rows:
        referenced = set(keep)
        for row in rows:
            referenced.add(row.package_sha256)
            referenced |= offices.read(row.id).referenced()
        return blobs.gc(referenced, now - A_DAY)
