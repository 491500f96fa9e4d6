"""Rubrics of the known work kinds, from figures recomputed on what a snapshot shows (docs/decisions/0002-work-kinds.md)."""
