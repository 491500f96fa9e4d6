"""What keeps the house in order: checks and helpers for those who work on OfficeTown."""
