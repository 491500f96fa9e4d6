"""Settings: read once, here, from the environment; everything else is passed what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from platformdirs import user_data_path

from services.models.endpoint import Effort, ToolsMode, Wire
from simulator.errors import UsageError

MODEL_VARIABLES = {
    "url": "OFFICETOWN_MODEL_URL",
    "name": "OFFICETOWN_MODEL",
    "key": "OFFICETOWN_MODEL_KEY",
    "wire": "OFFICETOWN_MODEL_WIRE",
    "effort": "OFFICETOWN_MODEL_EFFORT",
    "tools": "OFFICETOWN_MODEL_TOOLS",
}


class ModelSettings(msgspec.Struct, frozen=True):
    """One OpenAI-compatible endpoint, or the offline professional when `url` is empty."""

    url: str = ""
    name: str = ""
    key: str = ""
    wire: Wire = "chat"
    effort: Effort = ""
    tools: ToolsMode = "native"

    @property
    def offline(self) -> bool:
        return not self.url


class Settings(msgspec.Struct, frozen=True):
    """Where OfficeTown keeps its state and which models it uses."""

    home: Path
    database_url: str
    model: ModelSettings

    @property
    def blobs(self) -> Path:
        return self.home / "blobs"

    @property
    def locks(self) -> Path:
        return self.home / "locks"

    @property
    def packages(self) -> Path:
        return self.home / "packages"

    @property
    def sent(self) -> Path:
        """Where the embedded carrier leaves what the office sent outside."""
        return self.home / "sent"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings that the environment names; see `docs/configuration.md` for the variables."""
    home = Path(environ["OFFICETOWN_HOME"]) if environ.get("OFFICETOWN_HOME") else user_data_path("officetown")
    home = home.expanduser().absolute()
    url = environ.get("DATABASE_URL") or f"sqlite:///{home / 'officetown.sqlite'}"
    raw = {field: environ[variable] for field, variable in MODEL_VARIABLES.items() if environ.get(variable)}
    try:
        model = msgspec.convert(raw, ModelSettings)
    except msgspec.ValidationError as fault:
        named = ", ".join(MODEL_VARIABLES[field] for field in raw if f"$.{field}" in str(fault))
        raise UsageError(f"{named or 'A model setting'} is not valid: {fault}.") from fault
    if model.url and not model.name:
        raise UsageError("OFFICETOWN_MODEL_URL is set but OFFICETOWN_MODEL is not: name the model to ask there.")
    return Settings(home, url, model)
