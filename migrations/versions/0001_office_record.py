"""The record of an office: log, bodies, tape, outbox, checkpoints."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


# Order is by code point, whatever the locale of the cluster.
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _of_office(name: str, *columns: sa.Column[object] | sa.Index, key: tuple[str, ...], **options: bool) -> None:
    op.create_table(
        name,
        sa.Column("office", _TEXT, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("office", *key, name=f"pk_{name}"),
        sa.ForeignKeyConstraint(["office"], ["offices.id"], name=f"fk_{name}_office", ondelete="CASCADE"),
        **options,
    )


def _bytes(name: str, nullable: bool = False, comment: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.LargeBinary, nullable=nullable, comment=comment)


def _text(name: str, comment: str | None = None, default: str | None = None) -> sa.Column[object]:
    return sa.Column(name, _TEXT, nullable=False, comment=comment, server_default=sa.text(default) if default else None)


def _number(name: str, comment: str | None = None, default: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger, nullable=False, comment=comment, server_default=default)


def upgrade() -> None:
    """Build the tables of the first shape."""
    op.create_table(
        "offices",
        _text("id"),
        _text("name"),
        _number("created", "seconds since the epoch"),
        _text("package_sha256"),
        _text("engine_version"),
        _number("seed"),
        sa.Column("parent", _TEXT, comment="of a fork; the parent itself may be gone"),
        sa.Column("parent_revision", sa.BigInteger),
        _number("epoch", default="0"),
        _number("head", default="0"),
        _bytes("status"),
        sa.PrimaryKeyConstraint("id", name="pk_offices"),
    )
    _of_office(
        "events",
        _number("revision"),
        _bytes("data", comment="canonical bytes"),
        key=("revision",),
        sqlite_with_rowid=False,
    )
    _of_office("bodies", _text("sha256", "of the uncompressed bytes"), _bytes("data", comment="zlib"), key=("sha256",))
    _of_office(
        "model_calls",
        _text("activation"),
        _number("ordinal"),
        _text("fingerprint"),
        _text("state", "begun or answered"),
        _number("worst_case_micros"),
        _text("role"),
        _text("session"),
        _bytes("parameters", True, "canonical bytes"),
        _bytes("messages", True, "SHA-256 digests, 32 bytes each, in order"),
        _bytes("response", True, "zlib of canonical bytes"),
        *(_number(f"{kind}_tokens", default="0") for kind in ("input", "cached", "output", "reasoning")),
        _number("cost_micros", default="0"),
        key=("activation", "ordinal"),
    )
    _of_office(
        "tool_results",
        _text("activation"),
        _number("ordinal"),
        _text("fingerprint"),
        _text("home_sha256", "body that holds the manifest of the home"),
        _bytes("data", comment="zlib of canonical (result, state, note)"),
        key=("activation", "ordinal"),
    )
    _of_office(
        "outbox",
        _text("key"),
        _text("lane"),
        _text("kind"),
        _bytes("body"),
        _number("sequence"),
        _text("state", "waiting, claimed, done or refused"),
        _number("attempts", default="0"),
        _number("next_attempt", "seconds since the epoch", default="0"),
        _text("last_error", default="''"),
        key=("key",),
    )
    _of_office(
        "checkpoints",
        _text("fold_version"),
        _number("revision"),
        _bytes("data", comment="zlib; a cache, never the truth (RULE 21)"),
        key=("fold_version", "revision"),
    )


def downgrade() -> None:
    """Refuse: a log is not thrown away by a migration."""
    raise NotImplementedError("The first shape has nothing before it.")
