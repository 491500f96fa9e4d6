"""A class of one's own as an agent: found by `module:Class`, and known by what its file holds."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from simulator.canonical import sha256
from simulator.errors import UsageError


class OwnClass(msgspec.Struct, frozen=True):
    """Such a class. `version` begins the SHA-256 of the file that it is in: another text is another agent."""

    spec: str
    made: Callable[[], Any]
    version: str = ""


def load_class(spec: str, search: Path, method: str) -> OwnClass:
    """Return the class that `module:Class` names, looked for in `search` first; it must have `method`, such as `run(task)`.

    Raises `UsageError`.
    """
    module, _, attribute = spec.partition(":")
    if str(search) not in sys.path:
        sys.path.insert(0, str(search))
    try:
        place = importlib.import_module(module)
        found: Any = getattr(place, attribute)
    except ModuleNotFoundError as missing:
        raise UsageError(f"--agent {spec}: there is no module {missing.name!r}, here or among the installed ones.") from None
    except AttributeError:
        raise UsageError(f"--agent {spec}: the module {module!r} has no {attribute!r}.") from None
    if not callable(getattr(found, method.partition("(")[0], None)):
        raise UsageError(f"--agent {spec}: {attribute} needs a method {method}.")
    return OwnClass(spec, found, _version(place))


def _version(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return sha256(Path(file).read_bytes())[:16] if file and Path(file).is_file() else ""
