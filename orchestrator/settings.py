"""Settings: read once, here, from the environment; everything else is passed what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path

import msgspec
from platformdirs import user_data_path

from services.models.endpoint import Effort, Endpoint, Prices, ToolsMode, Wire
from simulator.errors import UsageError

HOME = "OFFICETOWN_HOME"
DATABASE = "DATABASE_URL"
PRICES = {"input": "OFFICETOWN_MODEL_PRICE_INPUT", "output": "OFFICETOWN_MODEL_PRICE_OUTPUT"}
MODEL_VARIABLES = {
    "url": "OFFICETOWN_MODEL_URL",
    "name": "OFFICETOWN_MODEL",
    "key": "OFFICETOWN_MODEL_KEY",
    "wire": "OFFICETOWN_MODEL_WIRE",
    "effort": "OFFICETOWN_MODEL_EFFORT",
    "tools": "OFFICETOWN_MODEL_TOOLS",
}
VARIABLES = (HOME, DATABASE, *MODEL_VARIABLES.values(), *PRICES.values())
"""Every variable that is read; `docs/configuration.md` explains each."""

_MOST_MONEY = Decimal(10) ** 12


class ModelSettings(msgspec.Struct, frozen=True):
    """One OpenAI-compatible endpoint, or the offline professional when `url` is empty.

    `prices` are in millionths of the ledger's currency per million tokens; None where they were not given.
    """

    url: str = ""
    name: str = ""
    key: str = ""
    wire: Wire = "chat"
    effort: Effort = ""
    tools: ToolsMode = "native"
    prices: Prices | None = None

    def __repr__(self) -> str:
        """Name the model without its key: what is printed ends up in logs."""
        return f"ModelSettings({self.name!r} at {self.url!r})"

    @property
    def offline(self) -> bool:
        """Whether the offline professional plays everybody."""
        return not self.url

    def endpoint(self) -> Endpoint:
        """Return the endpoint that these settings name."""
        return Endpoint(
            self.url, self.name, self.key, wire=self.wire, effort=self.effort, tools=self.tools, prices=self.prices
        )


class Settings(msgspec.Struct, frozen=True):
    """Where OfficeTown keeps its state and which models it uses."""

    home: Path
    database_url: str
    model: ModelSettings

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
    def sent(self) -> Path:
        """Where the embedded carrier leaves what the office sent outside."""
        return self.home / "sent"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings that the environment names; see `docs/configuration.md` for the variables.

    Raises UsageError, naming the variable, where a value cannot be used.
    """
    home = Path(environ[HOME]) if environ.get(HOME) else user_data_path("officetown")
    home = home.expanduser().absolute()
    database = environ.get(DATABASE) or f"sqlite:///{home / 'officetown.sqlite'}"
    return Settings(home, database, _model(environ))


def _model(environ: Mapping[str, str]) -> ModelSettings:
    raw = {field: environ[variable] for field, variable in MODEL_VARIABLES.items() if environ.get(variable)}
    try:
        model = msgspec.convert(raw, ModelSettings)
    except msgspec.ValidationError as fault:
        named = ", ".join(MODEL_VARIABLES[field] for field in raw if f"$.{field}" in str(fault))
        raise UsageError(f"{named or 'A model setting'} is not valid: {fault}.") from fault
    if model.url and not model.url.startswith(("http://", "https://")):
        raise UsageError(
            f"{MODEL_VARIABLES['url']} must begin with http:// or https://, such as http://localhost:8000/v1."
        )
    if model.url and not model.name:
        raise UsageError(
            f"{MODEL_VARIABLES['url']} is set but {MODEL_VARIABLES['name']} is not: name the model to ask there."
        )
    given = {field: environ[variable] for field, variable in PRICES.items() if environ.get(variable)}
    if len(given) == 1:
        raise UsageError(f"Set {' and '.join(PRICES.values())} together, or neither.")
    if given:
        prices = Prices(**{field: micros(text, PRICES[field]) for field, text in given.items()})
        model = msgspec.structs.replace(model, prices=prices)
    return model


def micros(text: str, what: str) -> int:
    """Return an amount of money, written as a decimal number, in millionths, rounded up. `what` names it in errors."""
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= _MOST_MONEY:
        raise UsageError(f"{what}: {text!r} is no amount of money; write a number of at least 0, such as 2.50.")
    return int((amount * 1_000_000).to_integral_value(ROUND_CEILING))
