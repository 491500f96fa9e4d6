"""Which chat, mail and calendar servers show the office: from the environment and `officetown.toml`, once (DESIGN 9)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import urlsplit

import msgspec

from orchestrator.configfile import File
from simulator.errors import UsageError

_PREFIX = "OFFICETOWN_"
CHAT = {"url": "CHAT_URL", "user": "CHAT_USER", "password": "CHAT_PASSWORD"}
MAIL = {"smtp": "MAIL_SMTP", "url": "MAIL_URL"}
CALENDAR = {"url": "CALENDAR_URL", "path": "CALENDAR_PATH", "per_year": "CALENDAR_PER_YEAR", "baikal": "BAIKAL_ROOT"}
SECRET, POLL = "OFFICETOWN_PEOPLE_SECRET", "OFFICETOWN_POLL_SECONDS"
VARIABLES = (*(_PREFIX + e for table in (CHAT, MAIL, CALENDAR) for e in table.values()), SECRET, POLL)
"""Every variable that is read here; `docs/configuration.md` explains each."""
_LONGEST_POLL = Decimal(3_600)


class ChatSettings(msgspec.Struct, frozen=True):
    """A Rocket.Chat server and an administrator's account there."""

    url: str
    user: str
    password: str

    def __repr__(self) -> str:
        """Name the server without the password: what is printed ends up in logs."""
        return f"ChatSettings({self.url!r} as {self.user!r})"


class MailSettings(msgspec.Struct, frozen=True):
    """A Mailpit server: where it takes mail by SMTP, and its API."""

    host: str
    port: int
    url: str


class CalendarSettings(msgspec.Struct, frozen=True):
    """A CalDAV server. `path` is that of a calendar below `url`, with {user} and {calendar}. `baikal` is the folder of
    a Baïkal whose accounts are to be made there; empty where somebody else makes them."""

    url: str
    path: str = "/{user}/{calendar}/"
    per_year: bool = True
    baikal: str = ""


class CarrierSettings(msgspec.Struct, frozen=True):
    """The servers that are set up; None where there is none. `poll_s` are seconds between looking for what people wrote.

    `secret` is what people's passwords are made from; empty for one that is made and kept in the home.
    """

    chat: ChatSettings | None = None
    mail: MailSettings | None = None
    calendar: CalendarSettings | None = None
    poll_s: float = 5.0
    secret: str = ""

    def __repr__(self) -> str:
        """Name the servers without the secret."""
        return f"CarrierSettings({self.chat!r}, {self.mail!r}, {self.calendar!r})"

    @property
    def any(self) -> bool:
        """Whether any server is set up."""
        return bool(self.chat or self.mail or self.calendar)


def read(file: File, environ: Mapping[str, str], source: str) -> CarrierSettings:
    """Return the servers that the environment and the file name; the environment says over the file.

    Raises UsageError, naming the variable, or file, table and key, where a value cannot be used or one is missing.
    """
    password_env = file.chat.password_env or ""
    secret_env = file.carriers.people_secret_env or ""
    said = environ.get(POLL) or (str(file.carriers.poll) if file.carriers.poll is not None else "")
    return CarrierSettings(
        _chat(_over(file.chat, CHAT, environ, source, "chat"), environ.get(password_env, ""), password_env),
        _mail(_over(file.mail, MAIL, environ, source, "mail")),
        _calendar(_over(file.calendar, CALENDAR, environ, source, "calendar")),
        _seconds(said),
        environ.get(SECRET) or environ.get(secret_env, ""),
    )


class _Said(msgspec.Struct, frozen=True):
    """What is said of a server, and where, for errors."""

    values: dict[str, str]
    where: dict[str, str]


def _over(table: msgspec.Struct, names: Mapping[str, str], environ: Mapping[str, str], source: str, name: str) -> _Said:
    values: dict[str, str] = {}
    where: dict[str, str] = {}
    for field, ending in names.items():
        variable, stored = _PREFIX + ending, getattr(table, field, None)
        if environ.get(variable):
            values[field], where[field] = environ[variable], variable
        elif stored is not None:
            values[field], where[field] = str(stored), f"{source}, table [{name}], key {field}"
    return _Said(values, where)


def _chat(said: _Said, of_file: str, password_env: str) -> ChatSettings | None:
    url = said.values.get("url", "")
    if not url:
        return None
    check_url(url, said.where["url"])
    user, password = said.values.get("user", ""), said.values.get("password", "") or of_file
    if not user or not password:
        missing = _PREFIX + CHAT["user"] if not user else password_env or _PREFIX + CHAT["password"]
        raise UsageError(
            f"The chat server {url} is named, but {missing} is not set: an administrator's account is needed."
        )
    return ChatSettings(url.rstrip("/"), user, password)


def _mail(said: _Said) -> MailSettings | None:
    smtp, url = said.values.get("smtp", ""), said.values.get("url", "")
    if not smtp and not url:
        return None
    if not smtp or not url:
        missing = _PREFIX + MAIL["smtp" if not smtp else "url"]
        raise UsageError(
            f"A mail server is named, but {missing} is not set: mail leaves by SMTP and is read by the API."
        )
    check_url(url, said.where["url"])
    host, _, port = smtp.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535):
        raise UsageError(f"{said.where['smtp']}: write a host and a port, such as 127.0.0.1:1025.")
    return MailSettings(host, int(port), url.rstrip("/"))


def _calendar(said: _Said) -> CalendarSettings | None:
    url = said.values.get("url", "")
    if not url:
        return None
    check_url(url, said.where["url"])
    path = said.values.get("path", CalendarSettings("").path)
    if not path.startswith("/") or not path.endswith("/") or "{user}" not in path or "{calendar}" not in path:
        raise UsageError(
            f"{said.where['path']}: write a path such as {CalendarSettings('').path}, with both names in it."
        )
    per_year = said.values.get("per_year", "true").casefold()
    if per_year not in ("true", "false", "1", "0"):
        raise UsageError(f"{said.where['per_year']}: write true or false.")
    return CalendarSettings(url.rstrip("/"), path, per_year in ("true", "1"), said.values.get("baikal", ""))


def _seconds(text: str) -> float:
    if not text:
        return CarrierSettings().poll_s
    try:
        seconds = Decimal(text)
    except ArithmeticError:
        seconds = Decimal("NaN")
    if not seconds.is_finite() or not 0 < seconds <= _LONGEST_POLL:
        raise UsageError(f"{POLL} (key poll of [carriers]): write seconds, more than 0 and at most {_LONGEST_POLL}.")
    return float(seconds)


def check_url(url: str, what: str) -> None:
    """Refuse an address that cannot be one, or that holds a password: it would be shown wherever it is named."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{what} must begin with http:// or https://, such as http://localhost:8000/v1.")
    refused = UsageError(f"{what} is no address; write one such as http://localhost:8000/v1.")
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise refused from None
    if not usable:
        raise refused
    if "@" in parts.netloc or parts.query:
        raise UsageError(f"{what} must not hold a name, a password or a query: a key goes into a variable of its own.")
