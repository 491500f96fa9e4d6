"""What a frozen task carries so that an agent can use the systems of record that it had: `/mnt/services/systems`."""

from __future__ import annotations

CARRIED = ("arguments.py", "desk.py", "effects.py", "pointers.py")
"""Modules of this package that need the standard library alone."""
