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
from typing import Annotated, Any, get_args

import msgspec

from services.models.endpoint import Effort, MaxTokensField, SchemaMode, ToolsMode, Wire
from simulator.conversation import Role
from simulator.errors import UsageError

NAME = "officetown.toml"
ROLES: tuple[Role, ...] = get_args(Role)
DEFAULT = "default"
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
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    rate: Decimal | None = None
    prices: PriceTable | None = None
    timeouts: TimeoutTable | None = None


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


def read(path: Path) -> dict[str, Table]:
    """Return the tables of a file by their names: `default` and roles.

    Raises UsageError, naming file, table and key, for anything that is not known or does not fit.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}.") from error
    known = (DEFAULT, *ROLES)
    for name, value in raw.items():
        if name not in known or not isinstance(value, dict):
            said = (
                f"[{name}] is no table of this file." if isinstance(value, dict) else f"the key {name} is in no table."
            )
            raise UsageError(f"{path}: {said}{_meant(name, known)} There are: {', '.join(f'[{k}]' for k in known)}.")
    return {name: _table(path, name, value) for name, value in raw.items()}


def _table(path: Path, name: str, value: Mapping[str, Any]) -> Table:
    where = f"{path}, table [{name}]"
    for key in value:
        if key.casefold() in _KEYS:
            raise UsageError(
                f"{where}: {key} is not taken: a key is never written into a file. Put it into an environment variable "
                'and name that: key_env = "SOME_API_KEY".'
            )
        if key not in Table.__struct_fields__:
            known = ", ".join(Table.__struct_fields__)
            raise UsageError(f"{where}: {key} is unknown.{_meant(key, Table.__struct_fields__)} Known are: {known}.")
    named = value.get("key_env")
    if isinstance(named, str) and not _VARIABLE.fullmatch(named):
        # What it holds is not repeated: it may be a key.
        raise UsageError(
            f"{where}: key_env is the name of an environment variable, in capitals such as SOME_API_KEY, never a key."
        )
    try:
        table = msgspec.convert(value, Table)
    except msgspec.ValidationError as fault:
        at = re.search(r"^(.*) - at `\$\.?(.*)`$", str(fault))
        key, said = (at[2], at[1]) if at else ("", str(fault))
        raise UsageError(f"{where}{f', key {key}' if key else ''}: {said.replace(' | null', '')}.") from fault
    _bounded(where, table)
    return table


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
