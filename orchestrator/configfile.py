"""`officetown.toml`: a model for each role, read strictly. No key is ever in it: it names the variable that holds one.

[default]
url = "https://api.example.com/v1"
model = "large"
key_env = "EXAMPLE_API_KEY"
prices = { input = 2.50, output = 10, cached = 0.25 }

[client]
model = "small"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import msgspec

from services.models.endpoint import Effort, MaxTokensField, SchemaMode, ToolsMode, Wire
from simulator.conversation import Role
from simulator.errors import UsageError

T = TypeVar("T", bound=msgspec.Struct)
NAME = "officetown.toml"
ROLES: tuple[Role, ...] = get_args(Role)
DEFAULT = "default"
MOST_OUTPUT = 10**7
"""Tokens that an answer may be bounded to at most: more than any model gives."""
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEYS = ("key", "api_key", "apikey", "token", "secret", "password", "authorization")


class PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Money per million tokens, in the office's currency."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None


class TimeoutTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds: until a connection stands, of silence within an answer, for a whole answer, and to wait an outage out."""

    connect: Decimal | None = None
    idle: Decimal | None = None
    total: Decimal | None = None
    outage: Decimal | None = None


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of the file: of a role, or of all that do not say otherwise. None is what it does not say."""

    url: str | None = None
    model: str | None = None
    key_env: str | None = None
    wire: Wire | None = None
    effort: Effort | None = None
    tools: ToolsMode | None = None
    max_tokens_field: MaxTokensField | None = None
    schema_mode: SchemaMode | None = None
    stream: bool | None = None
    echo_reasoning: bool | None = None
    max_output: Annotated[int, msgspec.Meta(ge=1, le=MOST_OUTPUT)] | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    rate: Decimal | None = None
    prices: PriceTable | None = None
    timeouts: TimeoutTable | None = None


class ChatTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Rocket.Chat server. `user` is an administrator's."""

    url: str | None = None
    user: str | None = None
    password_env: str | None = None


class MailTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Mailpit server: `smtp` is host:port, `url` that of its API."""

    smtp: str | None = None
    url: str | None = None


class CalendarTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A CalDAV server. `path` is that of a calendar, with {user} and {calendar}; `per_year` whether each year has its own.
    `baikal` is the folder of a Baïkal whose accounts are to be made there."""

    url: str | None = None
    path: str | None = None
    per_year: bool | None = None
    baikal: str | None = None


class CarriersTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for all three: seconds between polls, and the variable of the secret that passwords are made from."""

    poll: Decimal | None = None
    people_secret_env: str | None = None


class File(msgspec.Struct, frozen=True):
    """What the file says: models by `default` and roles, and the servers that show the office."""

    models: dict[str, Table] = {}
    chat: ChatTable = ChatTable()
    mail: MailTable = MailTable()
    calendar: CalendarTable = CalendarTable()
    carriers: CarriersTable = CarriersTable()


SERVERS: dict[str, type[msgspec.Struct]] = {
    "chat": ChatTable, "mail": MailTable, "calendar": CalendarTable, "carriers": CarriersTable,
}  # fmt: skip


def find(named: str, home: Path) -> Path | None:
    """Return the file that counts: the one that is named, else one in this folder, else one in the home, else None.

    Raises UsageError where the named one is not there.
    """
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise UsageError(f"OFFICETOWN_CONFIG names {path}, but there is no such file.")
        return path
    return next((path for path in (Path(NAME), home / NAME) if path.is_file()), None)


def read(path: Path) -> File:
    """Return what a file says.

    Raises UsageError, naming file, table and key, for anything that is not known or does not fit.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}.") from error
    known = (DEFAULT, *ROLES, *SERVERS)
    models: dict[str, Table] = {}
    servers: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in known or not isinstance(value, dict):
            said = (
                f"[{name}] is no table of this file." if isinstance(value, dict) else f"the key {name} is in no table."
            )
            raise UsageError(f"{path}: {said}{_meant(name, known)} There are: {', '.join(f'[{k}]' for k in known)}.")
        where = f"{path}, table [{name}]"
        if name in SERVERS:
            servers[name] = _table(where, value, SERVERS[name])
        else:
            models[name] = _table(where, value, Table)
            _bounded(where, models[name])
    return File(models, **servers)


def _table(where: str, value: Mapping[str, Any], kind: type[T]) -> T:
    for key, given in value.items():
        if key.casefold() in _KEYS:
            raise UsageError(
                f"{where}: {key} is not taken: a key is never written into a file. Put it into an environment variable "
                f'and name that: {"key_env" if kind is Table else "password_env"} = "SOME_VARIABLE".'
            )
        if key not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise UsageError(f"{where}: {key} is unknown.{_meant(key, kind.__struct_fields__)} Known are: {known}.")
        if key.endswith("_env") and isinstance(given, str) and not _VARIABLE.fullmatch(given):
            # What it holds is not repeated: it may be a key.
            raise UsageError(
                f"{where}: {key} is the name of an environment variable, in capitals such as SOME_API_KEY, never a key."
            )
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        at = re.search(r"^(.*) - at `\$\.?(.*)`$", str(fault))
        key, said = (at[2], at[1]) if at else ("", str(fault))
        raise UsageError(f"{where}{f', key {key}' if key else ''}: {said.replace(' | null', '')}.") from fault


def _bounded(where: str, table: Table) -> None:
    """Hold numbers to their bounds: a decimal may be NaN or infinite, which no bound of a type catches."""
    limits: list[tuple[str, Decimal | None, int, bool]] = [("rate", table.rate, 10**6, True)]
    if table.prices is not None:
        limits += [(f"prices.{f}", getattr(table.prices, f), 10**12, False) for f in PriceTable.__struct_fields__]
    if table.timeouts is not None:
        limits += [(f"timeouts.{f}", getattr(table.timeouts, f), 86_400, True) for f in TimeoutTable.__struct_fields__]
    for key, number, most, above in limits:
        if number is None:
            continue
        if not number.is_finite() or not 0 <= number <= most or (above and number == 0):
            least = "more than 0" if above else "at least 0"
            raise UsageError(f"{where}, key {key}: {number} is not {least} and at most {most}.")


def _meant(name: str, known: tuple[str, ...]) -> str:
    """Return a question where a known name is near, else nothing."""
    close = get_close_matches(name, known, 1)
    return f" Did you mean {close[0]}?" if close else ""
