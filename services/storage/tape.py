"""How tape entries are written down: a request is its parameters plus a list of message hashes (RULE 22).

Bodies (messages, tool lists, schemas, home manifests, long texts) are filed under the SHA-256 of their bytes and
compressed here, never by the database.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from simulator.canonical import canonical, sha256
from simulator.conversation import Message, ModelRequest, ModelResponse, Role, ToolSpec
from simulator.errors import CorruptStore
from simulator.ports import ShellState, TapeTool, TreeEntry

BODY_LIMIT = 256 * 1024 * 1024
_LEVEL = 1


class Parameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything of a request but its messages and its key; `tools` and `schema` are hashes of bodies."""

    role: Role
    session: str
    max_output: int
    tools: str = ""
    schema: str = ""
    schema_name: str = ""


class ToolRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored of a tool result beside its key, its fingerprint and the hash of its home."""

    result: str
    state: ShellState
    note: str = ""


class LedgerLine(msgspec.Struct, frozen=True):
    """One model call as it is charged: its answer, what is in flight at its worst case, and lost attempts (RULE 2)."""

    activation: str
    ordinal: int
    role: str
    session: str
    state: Literal["begun", "answered"]
    cost_micros: int
    worst_case_micros: int
    lost_micros: int
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    latency_ms: int = 0

    @property
    def charged_micros(self) -> int:
        """What this call counts for in the budget, in millionths."""
        return self.lost_micros + (self.cost_micros if self.state == "answered" else self.worst_case_micros)


def pack(data: bytes) -> bytes:
    """Compress the bytes of a body."""
    return zlib.compress(data, _LEVEL)


def unpack(data: bytes, where: str, limit: int = BODY_LIMIT) -> bytes:
    """Return the uncompressed bytes. Raises CorruptStore when they are damaged or larger than `limit`."""
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, limit)
    except zlib.error:
        raise CorruptStore(f"{where}: the stored bytes are damaged. Restore the database from a backup.") from None
    if not stream.eof or stream.unused_data:
        raise CorruptStore(f"{where}: the stored bytes are cut off or larger than {limit} bytes. Restore a backup.")
    return out


def decode(data: bytes, kind: Any, where: str) -> Any:
    """Return `data` (canonical JSON) as `kind`. Raises CorruptStore when it is something else."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError:
        raise CorruptStore(f"{where}: the stored record cannot be read. Restore the database from a backup.") from None


class Encoder:
    """Turns requests and tool results into rows, and collects the bodies these name.

    Tool lists and schemas are the same objects call after call: their hashes are kept by identity.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[object, str, bytes]] = {}

    def call(
        self, request: ModelRequest, response: ModelResponse, body: Callable[[str, Callable[[], bytes]], None]
    ) -> dict[str, Any]:
        """Return the row of an answered call, without office and attempt; `body` is told of each body it names."""
        for message in request.messages:
            body(message.digest, lambda message=message: message.body)  # type: ignore[misc]
        parameters = Parameters(
            request.role,
            request.session,
            request.max_output,
            self._body(request.tools, body) if request.tools else "",
            self._body(request.schema, body) if request.schema is not None else "",
            request.schema_name,
        )
        return begun_row(request, 0) | {
            "state": "answered",
            "parameters": canonical(parameters),
            "messages": b"".join(bytes.fromhex(message.digest) for message in request.messages),
            "response": pack(canonical(response.on_record())),
            "input_tokens": response.usage.input,
            "cached_tokens": response.usage.cached,
            "output_tokens": response.usage.output,
            "reasoning_tokens": response.usage.reasoning,
            "cost_micros": response.cost_micros,
            "latency_ms": response.latency_ms,
        }

    def tool(self, tool: TapeTool, body: Callable[[str, Callable[[], bytes]], None]) -> dict[str, Any]:
        """Return the row of a tool result, without office."""
        home = canonical(tool.home)
        digest = sha256(home)
        body(digest, lambda: home)
        return {
            "activation": tool.activation,
            "ordinal": tool.ordinal,
            "fingerprint": tool.fingerprint,
            "home_sha256": digest,
            "data": pack(canonical(ToolRecord(tool.result, tool.state, tool.note))),
        }

    def _body(self, value: object, body: Callable[[str, Callable[[], bytes]], None]) -> str:
        kept = self._kept.get(id(value))
        if kept is None or kept[0] is not value:
            data = canonical(value)
            kept = (value, sha256(data), data)
            if len(self._kept) >= 256:
                self._kept.clear()
            self._kept[id(value)] = kept
        data = kept[2]
        body(kept[1], lambda: data)
        return kept[1]


def begun_row(request: ModelRequest, worst_case_micros: int) -> dict[str, Any]:
    """Return the row of a call about to be made, without office and attempt."""
    activation, ordinal = request.call
    return {
        "activation": activation,
        "ordinal": ordinal,
        "fingerprint": request.fingerprint,
        "state": "begun",
        "worst_case_micros": worst_case_micros,
        "role": request.role,
        "session": request.session,
    }


def digests(messages: bytes) -> Iterator[str]:
    """Yield the hex digests of a stored list of message hashes."""
    for start in range(0, len(messages), 32):
        yield messages[start : start + 32].hex()


def request_of(row: Any, body: Callable[[str], bytes], where: str) -> ModelRequest:
    """Build the request of an answered call again; `body` returns the bytes filed under a hash."""
    parameters: Parameters = decode(row.parameters, Parameters, where)
    return ModelRequest(
        role=parameters.role,
        call=(row.activation, row.ordinal),
        session=parameters.session,
        messages=tuple(decode(body(digest), Message, where) for digest in digests(row.messages)),
        tools=decode(body(parameters.tools), tuple[ToolSpec, ...], where) if parameters.tools else (),
        schema=decode(body(parameters.schema), dict[str, Any], where) if parameters.schema else None,
        schema_name=parameters.schema_name,
        max_output=parameters.max_output,
    )


def tool_of(row: Any, body: Callable[[str], bytes], where: str) -> TapeTool:
    """Build a stored tool result again."""
    record: ToolRecord = decode(unpack(row.data, where), ToolRecord, where)
    home: tuple[TreeEntry, ...] = decode(body(row.home_sha256), tuple[TreeEntry, ...], where)
    return TapeTool(row.activation, row.ordinal, row.fingerprint, record.result, home, record.state, record.note)
