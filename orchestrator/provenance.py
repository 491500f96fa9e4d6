"""What an office was run with: the versions of the prompts, the models, the engine. Kept beside its log, not in it.

Wording and models change what is answered, and the answers are on the tape; the log is a function of them (RULE 2). So
provenance is written into the office's status at the start of each run, where the run before differs, as a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from simulator.canonical import canonical
from simulator.events import ENGINE_VERSION
from simulator.prompts import versions

KEPT = 50
"""Different runs that are remembered; of more, the first is kept and the latest ones."""


class Noted(Protocol):
    """A journal as read: an office's status is what `note_run` wrote, and nothing else's."""

    @property
    def status(self) -> bytes: ...
    @property
    def head(self) -> int: ...


class Notable(Noted, Protocol):
    """A journal held for running."""

    def set_status(self, status: bytes) -> None: ...


class RunWith(msgspec.Struct, frozen=True):
    """One run, or several alike: from which revision on, and with what. `models` maps a role to a model's name."""

    revision: int
    engine: str
    models: dict[str, str]
    prompts: dict[str, str]


class Status(msgspec.Struct, frozen=True):
    """What an office's status holds, in canonical JSON."""

    runs: tuple[RunWith, ...] = ()


def note_run(journal: Notable, models: Mapping[str, str]) -> None:
    """Write into the office's status what the run that begins now is made with, where it differs from the last one.

    Raises:
        StorageError, Fenced: as the journal does.
    """
    status = _read(journal.status)
    now = RunWith(journal.head, ENGINE_VERSION, dict(models), versions())
    if status.runs and msgspec.structs.replace(status.runs[-1], revision=now.revision) == now:
        return
    runs = (*status.runs, now)
    kept = runs if len(runs) <= KEPT else (runs[0], *runs[-KEPT + 1 :])
    journal.set_status(canonical(Status(kept)))


def provenance(reader: Noted) -> list[dict[str, object]]:
    """Return the runs of an office for `show --json`: revision, engine, models and prompts of each, the oldest first."""
    return [msgspec.to_builtins(run) for run in _read(reader.status).runs]


def until(status: bytes, revision: int) -> bytes:
    """Return an office's status as of a revision: of its runs, those that made something up to there."""
    runs = tuple(run for run in _read(status).runs if run.revision < revision)
    return canonical(Status(runs)) if runs else b""


def _read(status: bytes) -> Status:
    """Read a status; what another version wrote and this one cannot read is as good as none."""
    try:
        return msgspec.json.decode(status or b"{}", type=Status)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return Status()
