"""Sandboxes: where an assistant's commands run, held away from everything else (RULES 30 to 36)."""
