"""Settings: read once, here, from the environment and `officetown.toml`; everything else is passed what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_data_path

from orchestrator import carriersettings, configfile
from orchestrator.carriersettings import CarrierSettings, check_url
from orchestrator.configfile import DEFAULT, MOST_OUTPUT, ROLES, Table
from orchestrator.telemetry import VARIABLES as TELEMETRY
from services.models.endpoint import Effort, Endpoint, MaxTokensField, Prices, SchemaMode, ToolsMode, Wire
from simulator.conversation import Role
from simulator.errors import UsageError

HOME = "OFFICETOWN_HOME"
DATABASE = "DATABASE_URL"
CONFIG = "OFFICETOWN_CONFIG"
IMAGE = "OFFICETOWN_ASSISTANT_IMAGE"
ENGINE = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
_PREFIX = "OFFICETOWN_"
_PRICES = {"input": "MODEL_PRICE_INPUT", "output": "MODEL_PRICE_OUTPUT"}
_MAX_OUTPUT = "MODEL_MAX_OUTPUT"
_MODEL = {
    "url": "MODEL_URL",
    "name": "MODEL",
    "key": "MODEL_KEY",
    "wire": "MODEL_WIRE",
    "effort": "MODEL_EFFORT",
    "tools": "MODEL_TOOLS",
}
PRICES = {field: _PREFIX + ending for field, ending in _PRICES.items()}
MODEL_VARIABLES = {field: _PREFIX + ending for field, ending in _MODEL.items()}
VARIABLES = (
    HOME,
    DATABASE,
    CONFIG,
    *MODEL_VARIABLES.values(),
    _PREFIX + _MAX_OUTPUT,
    *PRICES.values(),
    *carriersettings.VARIABLES,
    IMAGE,
    *ENGINE,
)
"""Every variable that is read; `docs/configuration.md` explains each. The model's also exist for each role."""

OFFLINE = "offline"
_MOST_MONEY = Decimal(10) ** 12


class ModelSettings(msgspec.Struct, frozen=True):
    """One OpenAI-compatible endpoint, or the offline professional when `url` is empty.

    `prices` are in millionths of the ledger's currency per million tokens; None where they were not given. `rate` is in
    calls a minute, 0 for any; `max_output` in tokens, 0 for what each request asks. `outage_s` is how long faults are
    waited out before a run stops. `key_env` names the variable that `key` was taken from; `key` is empty if it is not
    set.
    """

    url: str = ""
    name: str = ""
    key: str = ""
    wire: Wire = "chat"
    effort: Effort = ""
    tools: ToolsMode = "native"
    prices: Prices | None = None
    key_env: str = ""
    max_tokens_field: MaxTokensField = "max_tokens"
    schema_mode: SchemaMode = "json_schema"
    stream: bool = False
    echo_reasoning: bool = False
    max_output: int = 0
    concurrency: int = 32
    rate: float = 0.0
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 300.0
    timeout_s: float = 600.0
    outage_s: float = 1800.0

    def __repr__(self) -> str:
        """Name the model without its key: what is printed ends up in logs."""
        return f"ModelSettings({self.name!r} at {self.url!r})"

    @property
    def offline(self) -> bool:
        """Whether the offline professional plays the role."""
        return not self.url

    def endpoint(self) -> Endpoint:
        """Return the endpoint that these settings name.

        Raises:
            UsageError: the variable that should hold its key is not set.
        """
        if self.key_env and not self.key:
            raise UsageError(f"The environment variable {self.key_env} is not set: it holds the key of {self.name}.")
        given = {name: getattr(self, name) for name in _ENDPOINT}
        return Endpoint(self.url, self.name, self.key, **given)


_ENDPOINT = tuple(name for name in ModelSettings.__struct_fields__ if name in Endpoint.__struct_fields__)


class Settings(msgspec.Struct, frozen=True):
    """Where OfficeTown keeps its state and which models it uses.

    `model` answers for every role that has none of its own in `roles`. `source` is the file they were read from, if
    any; `telemetry` what the environment says of it.
    """

    home: Path
    database_url: str
    model: ModelSettings
    roles: dict[Role, ModelSettings] = {}
    source: Path | None = None
    telemetry: dict[str, str] = {}
    carriers: CarrierSettings = CarrierSettings()
    engine: dict[str, str] = {}
    """The Docker tools' own variables: which engine makes containers."""
    image: str = ""
    """The assistants' image; empty for the one that this checkout makes."""

    def of(self, role: Role) -> ModelSettings:
        """Return a role's model."""
        return self.roles.get(role, self.model)

    @property
    def blobs(self) -> Path:
        """File bytes by their hash."""
        return self.home / "blobs"

    @property
    def locks(self) -> Path:
        """One lock file an office, where the database is SQLite."""
        return self.home / "locks"

    @property
    def packages(self) -> Path:
        """Where `new` puts packages unless told otherwise."""
        return self.home / "packages"

    @property
    def carried(self) -> Path:
        """Where the embedded mail and calendar servers keep what they hold."""
        return self.home / "carriers"

    @property
    def sent(self) -> Path:
        """Where the embedded carrier leaves what the office sent outside."""
        return self.home / "sent"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings that the environment and the file name; see `docs/configuration.md`.

    Raises UsageError, naming the variable, or file, table and key, where a value cannot be used.
    """
    home = Path(environ[HOME]) if environ.get(HOME) else user_data_path("officetown")
    home = home.expanduser().absolute()
    database = environ.get(DATABASE) or f"sqlite:///{home / 'officetown.sqlite'}"
    source = configfile.find(environ.get(CONFIG, ""), home)
    file = configfile.read(source) if source else configfile.File()

    def said(name: str, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
        where = f"{source}, table [{name}]"
        return _of_file(file.models.get(name, Table()), where, environ), _of_environ(environ, prefix)

    shared: dict[str, Any] = {}
    for each in said(DEFAULT, _PREFIX):
        shared = _over(shared, each)
    roles: dict[Role, ModelSettings] = {}
    for role in ROLES:
        own = said(role, f"{_PREFIX}{role.upper()}_")
        if any(own):
            roles[role] = _model(_over(_over(shared, own[0]), own[1]), role)
    telemetry = {name: environ[name] for name in TELEMETRY if name in environ}
    engine = {name: environ[name] for name in ENGINE if environ.get(name)}
    carriers = carriersettings.read(file, environ, str(source or configfile.NAME))
    return Settings(
        home, database, _model(shared, DEFAULT), roles, source, telemetry, carriers, engine, environ.get(IMAGE, "")
    )


def _over(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with what `top` says over it.

    Another address takes nothing over from `base`: least of all the key, which would be told to a stranger. Another
    model takes no prices over.
    """
    if top.get("url", base.get("url")) != base.get("url") or (top.get("name") == OFFLINE and "url" not in top):
        return dict(top)
    kept = dict(base)
    if top.get("name", base.get("name")) != base.get("name"):
        kept.pop("prices", None)
    if "key" in top or "key_env" in top:
        kept.pop("key", None)
        kept.pop("key_env", None)
    return {**kept, **top}


def _model(said: Mapping[str, Any], role: str) -> ModelSettings:
    """Return the settings of a role, whose parts fit together."""
    url, name = said.get("url", ""), said.get("name", "")
    if not url and name == OFFLINE:
        return ModelSettings()
    whose = "" if role == DEFAULT else f" (for the role {role})"
    if url and not name:
        raise UsageError(
            f"{MODEL_VARIABLES['url']} is set but {MODEL_VARIABLES['name']} is not{whose}: name the model to ask there, "
            f"or `model` beside `url` in {configfile.NAME}."
        )
    if name and not url:
        raise UsageError(
            f"{MODEL_VARIABLES['name']} is set but {MODEL_VARIABLES['url']} is not{whose}: say where {name!r} is asked, "
            f"or `url` beside `model` in {configfile.NAME}; {OFFLINE!r} needs none."
        )
    return ModelSettings(**said)


def _of_file(table: Table, where: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what a table of the file says, by the names of `ModelSettings`."""
    said = {name: value for name in Table.__struct_fields__ if (value := getattr(table, name)) is not None}
    if "model" in said:
        said["name"] = said.pop("model")
    if "url" in said:
        check_url(said["url"], f"{where}, key url")
    if table.key_env is not None:
        said["key"] = environ.get(table.key_env, "")
    if table.rate is not None:
        said["rate"] = float(table.rate)
    if table.prices is not None:
        given = {name: getattr(table.prices, name) for name in ("input", "output", "cached")}
        amounts = {n: micros(str(v), f"{where}, key prices.{n}") for n, v in given.items() if v is not None}
        said["prices"] = Prices(**amounts)
    timeouts = said.pop("timeouts", None)
    if timeouts is not None:
        fields = {"connect": "connect_timeout_s", "idle": "idle_timeout_s", "total": "timeout_s", "outage": "outage_s"}
        values = {field: getattr(timeouts, name) for name, field in fields.items()}
        said |= {field: float(value) for field, value in values.items() if value is not None}
    return said


def _of_environ(environ: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """Return what the variables of that prefix say, by the names of `ModelSettings`."""
    said: dict[str, Any] = {f: environ[prefix + e] for f, e in _MODEL.items() if environ.get(prefix + e)}
    try:
        msgspec.convert(said, ModelSettings)
    except msgspec.ValidationError as fault:
        named = ", ".join(prefix + _MODEL[field] for field in said if f"$.{field}" in str(fault))
        raise UsageError(f"{named or 'A model setting'} is not valid: {fault}.") from fault
    if "url" in said:
        check_url(said["url"], prefix + _MODEL["url"])
    if environ.get(prefix + _MAX_OUTPUT):
        said["max_output"] = _tokens(environ[prefix + _MAX_OUTPUT], prefix + _MAX_OUTPUT)
    names = {field: prefix + ending for field, ending in _PRICES.items()}
    given = {field: environ[name] for field, name in names.items() if environ.get(name)}
    if len(given) == 1:
        raise UsageError(f"Set {' and '.join(names.values())} together, or neither.")
    if given:
        said["prices"] = Prices(**{field: micros(text, names[field]) for field, text in given.items()})
    return said


def _tokens(text: str, what: str) -> int:
    """Return a number of tokens; `what` names it in errors."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9 and 1 <= int(digits) <= MOST_OUTPUT):
        raise UsageError(f"{what}: {text!r} is no number of tokens from 1 to {MOST_OUTPUT}, such as 4096.")
    return int(digits)


def micros(text: str, what: str) -> int:
    """Return an amount of money, written as a decimal number, in millionths, rounded up. `what` names it in errors."""
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= _MOST_MONEY:
        raise UsageError(f"{what}: {text!r} is no amount of money; write a number of at least 0, such as 2.50.")
    return int((amount * 1_000_000).to_integral_value(ROUND_CEILING))
