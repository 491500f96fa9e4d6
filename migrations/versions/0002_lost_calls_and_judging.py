"""Attempts of model calls that never answered are charged; evaluations, trials and reviews get a place."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add what a crash costs, the outbox's index, and the three document tables."""
    op.add_column(
        "model_calls",
        sa.Column(
            "attempt",
            _TEXT,
            nullable=False,
            server_default=sa.text("''"),
            comment="epoch and counter of the last begin",
        ),
    )
    op.add_column(
        "model_calls",
        sa.Column(
            "lost_micros", sa.BigInteger, nullable=False, server_default="0", comment="of attempts that never answered"
        ),
    )
    op.create_index("ix_outbox_office_state_sequence", "outbox", ["office", "state", "sequence"])
    for name in ("evaluations", "trials", "reviews"):
        op.create_table(
            name,
            sa.Column("id", _TEXT, nullable=False),
            sa.Column("created", sa.BigInteger, nullable=False, comment="seconds since the epoch"),
            sa.Column("body", sa.LargeBinary, nullable=False),
            sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        )


def downgrade() -> None:
    """Refuse: going back would lose what was paid."""
    raise NotImplementedError("Keep a copy of the database before upgrading; there is no way back.")
