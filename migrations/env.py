"""Alembic's entry: runs the migrations on the connection that `services.storage.database.upgrade` hands over."""

from __future__ import annotations

from alembic import context

from services.storage.tables import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError("Migrations are run by OfficeTown itself on first use, not by the alembic command.")
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
