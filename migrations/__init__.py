"""How the stored shape changes (Alembic)."""
