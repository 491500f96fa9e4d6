"""The hash of an office's log: SHA-256 over the stored canonical bytes, a line feed after each event (RULE 20)."""

from __future__ import annotations

import hashlib

from simulator.engine.history import Log


def log_hash(log: Log) -> str:
    """Return the SHA-256 of the canonical event log."""
    digest = hashlib.sha256()
    for _, data in log.events():
        digest.update(data + b"\n")
    return digest.hexdigest()
