"""Radicale, the calendar server that needs no container."""

from services.carriers.radicale.server import RadicaleServer

__all__ = ["RadicaleServer"]
