"""The tables, once, for SQLite and PostgreSQL (RULE 23).

Everything whose truth matters is bytes: a database's JSON type reorders keys, changes numbers and refuses characters
(RULE 20). What the migrations build must equal what stands here; a test holds the two together.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, MetaData, Table, text
from sqlalchemy import Text as PlainText

# Order is by code point everywhere (RULE 37); PostgreSQL would follow the locale of whoever made the cluster.
Text = PlainText().with_variant(PlainText(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _office() -> Column[str]:
    return Column("office", Text, ForeignKey("offices.id", ondelete="CASCADE"), primary_key=True)


offices = Table(
    "offices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created", BigInteger, nullable=False, comment="seconds since the epoch"),
    Column("package_sha256", Text, nullable=False),
    Column("engine_version", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("parent", Text, comment="of a fork; the parent itself may be gone"),
    Column("parent_revision", BigInteger),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("head", BigInteger, nullable=False, server_default="0"),
    Column("status", LargeBinary, nullable=False),
)

events = Table(
    "events",
    metadata,
    _office(),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False, comment="canonical bytes"),
    sqlite_with_rowid=False,
)

bodies = Table(
    "bodies",
    metadata,
    _office(),
    Column("sha256", Text, primary_key=True, comment="of the uncompressed bytes"),
    Column("data", LargeBinary, nullable=False, comment="zlib"),
)

model_calls = Table(
    "model_calls",
    metadata,
    _office(),
    Column("activation", Text, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("fingerprint", Text, nullable=False),
    Column("state", Text, nullable=False, comment="begun or answered"),
    Column("attempt", Text, nullable=False, server_default=text("''"), comment="epoch and counter of the last begin"),
    Column("worst_case_micros", BigInteger, nullable=False),
    Column("lost_micros", BigInteger, nullable=False, server_default="0", comment="of attempts that never answered"),
    Column("role", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("parameters", LargeBinary, comment="canonical bytes"),
    Column("messages", LargeBinary, comment="SHA-256 digests, 32 bytes each, in order"),
    Column("response", LargeBinary, comment="zlib of canonical bytes"),
    Column("input_tokens", BigInteger, nullable=False, server_default="0"),
    Column("cached_tokens", BigInteger, nullable=False, server_default="0"),
    Column("output_tokens", BigInteger, nullable=False, server_default="0"),
    Column("reasoning_tokens", BigInteger, nullable=False, server_default="0"),
    Column("cost_micros", BigInteger, nullable=False, server_default="0"),
    Column("latency_ms", BigInteger, nullable=False, server_default="0", comment="wall time; 0 where nobody waited"),
)

tool_results = Table(
    "tool_results",
    metadata,
    _office(),
    Column("activation", Text, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("fingerprint", Text, nullable=False),
    Column("home_sha256", Text, nullable=False, comment="body that holds the manifest of the home"),
    Column("data", LargeBinary, nullable=False, comment="zlib of canonical (result, state, note)"),
)

outbox = Table(
    "outbox",
    metadata,
    _office(),
    Column("key", Text, primary_key=True),
    Column("lane", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("state", Text, nullable=False, comment="waiting, claimed, done or refused"),
    Column("attempts", BigInteger, nullable=False, server_default="0"),
    Column("next_attempt", BigInteger, nullable=False, server_default="0", comment="seconds since the epoch"),
    Column("last_error", Text, nullable=False, server_default=text("''")),
    Index("ix_outbox_office_state_sequence", "office", "state", "sequence"),
)

cursors = Table(
    "cursors",
    metadata,
    _office(),
    Column("carrier", Text, primary_key=True, comment="the tag of a server"),
    Column("cursor", LargeBinary, nullable=False, comment="how far it was read; opaque, of the carrier's own making"),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    _office(),
    Column("fold_version", Text, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False, comment="zlib; a cache, never the truth (RULE 21)"),
)


def _documents(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Text, primary_key=True),
        Column("created", BigInteger, nullable=False, comment="seconds since the epoch"),
        Column("body", LargeBinary, nullable=False),
    )


evaluations = _documents("evaluations")
trials = _documents("trials")
reviews = _documents("reviews")
