"""Reading an office's record: without a lease, and while another process runs it."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator

from sqlalchemy import Row, bindparam, func, select

from services.storage import tape
from services.storage.database import Database
from services.storage.tables import bodies, checkpoints, events, model_calls, offices, tool_results
from services.storage.tape import LedgerLine
from simulator.canonical import sha256
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import CorruptStore, UnknownReference
from simulator.ports import TapeCall, TapeTool

CHUNK = 4000
"""Events fetched at a time; no cursor stays open between chunks."""
_HOMES = 64
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

_EVENTS = (
    select(events.c.revision, events.c.data)
    .where(events.c.office == bindparam("office"), events.c.revision > bindparam("after"))
    .where(events.c.revision <= bindparam("upto"))
    .order_by(events.c.revision)
    .limit(CHUNK)
)
_BODY = select(bodies.c.data).where(bodies.c.office == bindparam("office"), bodies.c.sha256 == bindparam("sha256"))
_CALL = select(model_calls).where(
    model_calls.c.office == bindparam("office"),
    model_calls.c.activation == bindparam("activation"),
    model_calls.c.ordinal == bindparam("ordinal"),
)
_LAST_CALL = (
    select(model_calls)
    .where(model_calls.c.office == bindparam("office"), model_calls.c.activation == bindparam("activation"))
    .where(model_calls.c.session == bindparam("session"), model_calls.c.state == "answered")
    .order_by(model_calls.c.ordinal.desc())
    .limit(1)
)
_TOOL = select(tool_results).where(
    tool_results.c.office == bindparam("office"),
    tool_results.c.activation == bindparam("activation"),
    tool_results.c.ordinal == bindparam("ordinal"),
)
_LEDGER = (
    select(*(model_calls.c[name] for name in LedgerLine.__struct_fields__))
    .where(model_calls.c.office == bindparam("office"))
    .order_by(model_calls.c.activation, model_calls.c.ordinal)
)


class JournalReader:
    """One office's record, read only. Each answer is what is committed at that moment."""

    def __init__(self, database: Database, office_id: str) -> None:
        self._database = database
        self._office = office_id
        self._homes: OrderedDict[str, bytes] = OrderedDict()

    @property
    def office_id(self) -> str:
        """The office's full id."""
        return self._office

    @property
    def database(self) -> Database:
        """Where the record is."""
        return self._database

    @property
    def head(self) -> int:
        """Revision of the last committed event; 0 for an empty log."""
        return self._stored_head()[0]

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield (revision, canonical bytes) of the revisions in (after, upto], streaming; a gap raises CorruptStore."""
        upto = self._stored_head()[0] if upto is None else upto
        while after < upto:
            with self._database.reading() as connection:
                rows = connection.execute(_EVENTS, {"office": self._office, "after": after, "upto": upto}).all()
            for revision, data in rows:
                if revision != after + 1:
                    raise CorruptStore(f"Office {self._office}: event {after + 1} is missing. Restore a backup.")
                after = revision
                yield revision, data
            if len(rows) < CHUNK:
                return

    def body(self, sha256: str) -> str:
        """Return the text filed under a hash, verified. Raises CorruptStore where it is missing or damaged."""
        return self.body_bytes(sha256).decode()

    def body_bytes(self, digest: str) -> bytes:
        """Return the verified bytes filed under a hash: a text, a message, a tool list, a home manifest."""
        with self._database.reading() as connection:
            packed = connection.execute(_BODY, {"office": self._office, "sha256": digest}).scalar()
        where = f"Office {self._office}, body {digest}"
        if packed is None:
            raise CorruptStore(f"{where}: is missing. Restore the database from a backup.")
        data = tape.unpack(packed, where)
        if sha256(data) != digest:
            raise CorruptStore(f"{where}: the bytes do not match their hash. Restore the database from a backup.")
        return data

    def call(self, activation: str, ordinal: int) -> TapeCall | None:
        """Return the stored answer of a call, or None: a call that was only begun has none."""
        row = self._row(_CALL, activation, ordinal)
        if row is None or row.state != "answered":
            return None
        return TapeCall(activation, ordinal, row.fingerprint, self._response(row))

    def tool(self, activation: str, ordinal: int) -> TapeTool | None:
        """Return the stored result of a sandbox tool call, or None."""
        row = self._row(_TOOL, activation, ordinal)
        return None if row is None else tape.tool_of(row, self._home, self._where(row))

    def conversation(self, activation: str, session: str) -> tuple[tuple[Message, ...], ModelResponse] | None:
        """Return the messages and the answer of an activation's last answered call under `session`, or None."""
        with self._database.reading() as connection:
            row = connection.execute(
                _LAST_CALL, {"office": self._office, "activation": activation, "session": session}
            ).first()
        if row is None:
            return None
        return tape.request_of(row, self.body_bytes, self._where(row)).messages, self._response(row)

    def requests(self) -> Iterator[tuple[ModelRequest, ModelResponse]]:
        """Yield every answered call in full, ordered by activation and ordinal: for exports and audits."""
        for line in self.ledger():
            row = self._row(_CALL, line.activation, line.ordinal)
            if row is not None and row.state == "answered":
                yield tape.request_of(row, self.body_bytes, self._where(row)), self._response(row)

    def ledger(self) -> Iterator[LedgerLine]:
        """Yield what each call is charged, ordered by activation and ordinal."""
        with self._database.reading() as connection:
            rows = connection.execute(_LEDGER, {"office": self._office}).all()
        for row in rows:
            yield LedgerLine(*row)

    def charged_micros(self) -> int:
        """Return what all calls are charged, lost and begun ones at their worst case (RULE 2)."""
        calls = model_calls.c
        begun = select(func.coalesce(func.sum(calls.worst_case_micros), 0)).where(
            calls.office == self._office, calls.state == "begun"
        )
        rest = select(func.coalesce(func.sum(calls.cost_micros + calls.lost_micros), 0)).where(
            calls.office == self._office
        )
        with self._database.reading() as connection:
            return int(connection.execute(begun).scalar_one()) + int(connection.execute(rest).scalar_one())

    def referenced(self) -> set[str]:
        """Return every hash that the log and the homes on the tape name: what must stay in the blob store (RULE 25).

        Found as text, without knowing the events' shapes, so it may name a few too many, never one too few. What a
        checkpoint names is in the log that it was folded from.
        """
        found: set[bytes] = set()
        for _, data in self.events():
            found.update(_HASH.findall(data))
        homes = select(tool_results.c.home_sha256).where(tool_results.c.office == self._office).distinct()
        with self._database.reading() as connection:
            digests = connection.execute(homes).scalars().all()
        for digest in digests:
            found.update(_HASH.findall(self.body_bytes(digest)))
        return {digest.decode() for digest in found}

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest (revision, data) of this fold version at or before `upto`, or None."""
        query = (
            select(checkpoints.c.revision, checkpoints.c.data)
            .where(checkpoints.c.office == self._office, checkpoints.c.fold_version == fold_version)
            .order_by(checkpoints.c.revision.desc())
            .limit(1)
        )
        if upto is not None:
            query = query.where(checkpoints.c.revision <= upto)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        return row.revision, tape.unpack(row.data, f"Office {self._office}, checkpoint {row.revision}")

    @property
    def status(self) -> bytes:
        """What the last run left to say about itself; empty at first."""
        with self._database.reading() as connection:
            return bytes(
                connection.execute(select(offices.c.status).where(offices.c.id == self._office)).scalar() or b""
            )

    def _stored_head(self) -> tuple[int, int]:
        with self._database.reading() as connection:
            row = connection.execute(
                select(offices.c.head, offices.c.epoch).where(offices.c.id == self._office)
            ).first()
        if row is None:
            raise UnknownReference(f"Office {self._office} is not there any more.")
        return row.head, row.epoch

    def _row(self, query: object, activation: str, ordinal: int) -> Row[tuple[object, ...]] | None:
        key = {"office": self._office, "activation": activation, "ordinal": ordinal}
        with self._database.reading() as connection:
            return connection.execute(query, key).first()  # type: ignore[call-overload, no-any-return]

    def _response(self, row: Row[tuple[object, ...]]) -> ModelResponse:
        where = self._where(row)
        response: ModelResponse = tape.decode(tape.unpack(row.response, where), ModelResponse, where)
        return response

    def _home(self, digest: str) -> bytes:
        """Return a home manifest; consecutive results mostly share theirs."""
        data = self._homes.get(digest)
        if data is None:
            data = self._homes[digest] = self.body_bytes(digest)
            if len(self._homes) > _HOMES:
                self._homes.popitem(last=False)
        return data

    def _where(self, row: Row[tuple[object, ...]]) -> str:
        return f"Office {self._office}, activation {row.activation}, call {row.ordinal}"
