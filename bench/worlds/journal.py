"""One trial's tape: a file of lines, each on the disk before what it holds is used (RULE 2).

A trial is a function of its settings and this tape. So a trial that was killed is run again from the start, and every
call that was answered before is answered from here; no cleverness is needed about where it stood.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import msgspec

from services.storage.wholefiles import sync_folder, write_whole
from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.errors import CorruptStore, TapeMismatch
from simulator.ports import Model


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    call: tuple[str, int]
    fingerprint: str
    response: ModelResponse


class _Head(msgspec.Struct, frozen=True):
    trial: str


class Tape:
    """The stored answers of one trial, in a file named after it. One process at a time holds a results folder."""

    def __init__(self, file: Path, trial: str) -> None:
        """Open or make the tape of `trial`. Raises `CorruptStore` where the file belongs to another."""
        self._file = file
        self._known: dict[tuple[str, int], _Line] = {}
        whole = self._read(trial)
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = not file.exists()
        self._out: IO[bytes] = file.open("ab")
        if whole is not None and whole < file.stat().st_size:
            self._out.truncate(whole)
        if fresh or whole == 0:
            self._append(canonical(_Head(trial)))
        if fresh:
            sync_folder(file.parent)

    def _read(self, trial: str) -> int | None:
        """Read what is there; return how many of its bytes are whole lines, None if there is no file."""
        if not self._file.exists():
            return None
        data = self._file.read_bytes()
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].split(b"\n")[:-1]
        try:
            if lines and msgspec.json.decode(lines[0], type=_Head).trial != trial:
                raise CorruptStore(f"{self._file.name} belongs to another trial; move it away and run again.")
            for line in lines[1:]:
                entry = msgspec.json.decode(line, type=_Line)
                self._known[entry.call] = entry
        except msgspec.MsgspecError:
            raise CorruptStore(
                f"{self._file.name} holds a line that is none of ours; move it away and run again."
            ) from None
        return whole

    def _append(self, line: bytes) -> None:
        self._out.write(line + b"\n")
        self._out.flush()
        os.fsync(self._out.fileno())

    def find(self, request: ModelRequest) -> ModelResponse | None:
        """Return the stored answer of a call. Raises `TapeMismatch` where another request was answered."""
        entry = self._known.get(request.call)
        if entry is not None and entry.fingerprint != request.fingerprint:
            raise TapeMismatch(
                f"call {request.call[1]} of {request.call[0]} is not the one that is stored: this trial took another "
                "course than the one that was interrupted; run with the version that began it, or in a new folder."
            )
        return None if entry is None else entry.response

    def keep(self, request: ModelRequest, response: ModelResponse) -> None:
        """Store an answer; it is on the disk when this returns."""
        entry = _Line(request.call, request.fingerprint, response)
        self._append(canonical(entry))
        self._known[request.call] = entry

    def close(self) -> None:
        """Let the file go."""
        self._out.close()

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Taped:
    """A `Model` that asks `inner` only for what the tape does not hold, and counts what was used.

    `unavailable` is not stored: when the trial is run again, the provider is asked again.
    """

    def __init__(self, inner: Model | None, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape
        self.usage = Usage()
        self.cost_micros = 0
        self.asked = 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer from the tape, or from the model and keep it. Raises `TapeMismatch` and what the model raises."""
        response = self._tape.find(request)
        if response is None:
            if self._inner is None:
                raise TapeMismatch(f"no model is set for the role {request.role!r}, and its answer is not stored.")
            response = self._inner.complete(request).cleaned()
            self.asked += 1
            if response.finish != "unavailable":
                self._tape.keep(request, response)
        self.usage = added(self.usage, response.usage)
        self.cost_micros += response.cost_micros
        return response


def added(a: Usage, b: Usage) -> Usage:
    """Return the sum of two usages."""
    return Usage(a.input + b.input, a.cached + b.cached, a.output + b.output, a.reasoning + b.reasoning)


def write_json(file: Path, value: Any) -> None:
    """Write a value as JSON so that the file is either whole or not there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, msgspec.json.encode(value), mode=0o666)
