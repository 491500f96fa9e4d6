"""CalDAV: the office's calendars on Radicale, Baïkal or any other server that keeps to RFC 4791 and 6578."""

from services.carriers.caldav.carrier import CalDav
from services.carriers.caldav.client import BAIKAL, RADICALE, Server

__all__ = ["BAIKAL", "RADICALE", "CalDav", "Server"]
