"""The statements of the write path, built once. Each may run twice without another effect."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table, and_, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from services.storage.tables import bodies, checkpoints, cursors, events, model_calls, offices, outbox, tool_results

INSERT_EVENTS = insert(events)
RELEASE_CALL = (
    update(model_calls)
    .where(model_calls.c.office == bindparam("o"), model_calls.c.activation == bindparam("a"))
    .where(model_calls.c.ordinal == bindparam("n"), model_calls.c.state == "begun")
    .values(worst_case_micros=bindparam("charged"))
)
SET_STATUS = update(offices).where(offices.c.id == bindparam("o")).values(status=bindparam("status"))
STORED_ANSWER = select(model_calls.c.fingerprint, model_calls.c.response).where(
    model_calls.c.office == bindparam("office"),
    model_calls.c.activation == bindparam("activation"),
    model_calls.c.ordinal == bindparam("ordinal"),
)
STORED_TOOL = select(tool_results.c.fingerprint, tool_results.c.home_sha256, tool_results.c.data).where(
    tool_results.c.office == bindparam("office"),
    tool_results.c.activation == bindparam("activation"),
    tool_results.c.ordinal == bindparam("ordinal"),
)
STORED_ITEM = select(outbox.c.lane, outbox.c.kind, outbox.c.body).where(
    outbox.c.office == bindparam("office"), outbox.c.key == bindparam("key")
)

_KEPT_OF_BEGUN = {"office", "activation", "ordinal", "attempt", "worst_case_micros", "lost_micros"}


class Statements:
    """The insert-or-leave statements, which the two databases spell alike but SQLAlchemy keeps apart."""

    def __init__(self, sqlite: bool) -> None:
        self._sqlite = sqlite
        self.body = self._insert(bodies).on_conflict_do_nothing()
        self.tool = _counted(self._insert(tool_results).on_conflict_do_nothing())
        self.outbox = _counted(self._insert(outbox).values(state="waiting").on_conflict_do_nothing())
        self.checkpoint = self._replace(checkpoints, "data")
        self.cursor = self._replace(cursors, "cursor")
        self.begin_call = self._begin_call()
        self.answer = _counted(self._answer())

    def _insert(self, table: Table) -> Any:
        return sqlite.insert(table) if self._sqlite else postgresql.insert(table)

    def _replace(self, table: Table, *columns: str) -> Any:
        statement = self._insert(table)
        values = {name: statement.excluded[name] for name in columns}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)

    def _begin_call(self) -> Any:
        """Begin a call; one begun before and never answered is lost and stays charged at its worst case."""
        calls, statement = model_calls.c, self._insert(model_calls)
        again = {name: statement.excluded[name] for name in ("fingerprint", "attempt", "worst_case_micros")}
        return statement.on_conflict_do_update(
            index_elements=list(model_calls.primary_key),
            set_=again | {"lost_micros": calls.lost_micros + calls.worst_case_micros},
            where=and_(calls.state == "begun", calls.attempt != statement.excluded.attempt),
        )

    def _answer(self) -> Any:
        """Answer a call, begun or not; an answered one is left as it is."""
        columns = [c.name for c in model_calls.columns if c.name not in ("attempt", "lost_micros")]
        statement = self._insert(model_calls).values({name: bindparam(name) for name in columns})
        return statement.on_conflict_do_update(
            index_elements=list(model_calls.primary_key),
            set_={name: statement.excluded[name] for name in columns if name not in _KEPT_OF_BEGUN},
            where=model_calls.c.state == "begun",
        )


def _counted(statement: Any) -> Any:
    """Keep the number of rows written: without being told so, SQLAlchemy reads it for UPDATE and DELETE alone."""
    return statement.execution_options(preserve_rowcount=True)
