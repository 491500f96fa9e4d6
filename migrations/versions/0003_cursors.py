"""How far each chat, mail and calendar server was read, so that a restart goes on from there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table of cursors."""
    op.create_table(
        "cursors",
        sa.Column("office", _TEXT, nullable=False),
        sa.Column("carrier", _TEXT, nullable=False, comment="the tag of a server"),
        sa.Column(
            "cursor", sa.LargeBinary, nullable=False, comment="how far it was read; opaque, of the carrier's own making"
        ),
        sa.PrimaryKeyConstraint("office", "carrier", name="pk_cursors"),
        sa.ForeignKeyConstraint(["office"], ["offices.id"], name="fk_cursors_office", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Refuse: what came in before would come in again."""
    raise NotImplementedError("Keep a copy of the database before upgrading; there is no way back.")
