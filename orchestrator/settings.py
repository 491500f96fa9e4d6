"""Settings: read once, here, from the environment; everything else is passed what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from platformdirs import user_data_path

from simulator.errors import UsageError


class ModelSettings(msgspec.Struct, frozen=True):
    """One OpenAI-compatible endpoint, or the offline professional when `url` is empty."""

    url: str = ""
    name: str = ""
    key: str = ""
    wire: str = "chat"
    effort: str = ""
    tools: str = "native"

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
    wire = environ.get("OFFICETOWN_MODEL_WIRE", "chat")
    if wire not in ("chat", "responses"):
        raise UsageError(f"OFFICETOWN_MODEL_WIRE is {wire!r}: set it to chat or responses.")
    model = ModelSettings(
        environ.get("OFFICETOWN_MODEL_URL", ""),
        environ.get("OFFICETOWN_MODEL", ""),
        environ.get("OFFICETOWN_MODEL_KEY", ""),
        wire,
        environ.get("OFFICETOWN_MODEL_EFFORT", ""),
        environ.get("OFFICETOWN_MODEL_TOOLS", "native"),
    )
    if model.url and not model.name:
        raise UsageError("OFFICETOWN_MODEL_URL is set but OFFICETOWN_MODEL is not: name the model to ask there.")
    return Settings(home, url, model)
