"""How long each model call took, beside the record of its answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of calls answered before nobody knows."""
    op.add_column(
        "model_calls",
        sa.Column(
            "latency_ms", sa.BigInteger, nullable=False, server_default="0", comment="wall time; 0 where nobody waited"
        ),
    )


def downgrade() -> None:
    """Refuse, as every step here does."""
    raise NotImplementedError("Keep a copy of the database before upgrading; there is no way back.")
