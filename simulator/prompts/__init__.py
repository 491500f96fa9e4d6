"""Prompts are documents: one template file each, strict variables, versioned by their content (DESIGN 10).

`docs/prompts.md` says who reads each and when. What others wrote enters a template through one of three filters alone:
`lines` (JSON, exact), `quote` (a block that is read as prose), `line` (a name or a title within a sentence).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from jinja2.meta import find_undeclared_variables

from simulator.canonical import sha256
from simulator.errors import UsageError
from simulator.quoting import json_line, one_line, quoted

SUFFIX = ".md.j2"


class Prompts:
    """The templates of one folder, each a file `<name>.md.j2`."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        # Prompts are text for a model, not HTML: escaping would change what is said.
        self._environment = Environment(
            loader=FunctionLoader(self.source),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # noqa: S701
        )
        self._environment.filters.update(lines=_lines, line=one_line, quote=quoted)
        self._known: dict[str, tuple[Template, frozenset[str]]] = {}

    def names(self) -> tuple[str, ...]:
        """Return the templates' names, in order."""
        found = (f.name for f in self._folder.iterdir())
        return tuple(sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX)))

    def source(self, name: str) -> str:
        """Return a template's text. Raises UsageError where there is none."""
        try:
            return self._folder.joinpath(f"{name}{SUFFIX}").read_text("utf-8")
        except FileNotFoundError:
            raise UsageError(f"There is no prompt {name!r}; there are: {', '.join(self.names())}.") from None

    def variables(self, name: str) -> frozenset[str]:
        """Return the variables a template takes, all of which it needs."""
        return self._template(name)[1]

    def render(self, name: str, /, **variables: Any) -> str:
        """Render a prompt. A missing or an unknown variable is a UsageError, never an empty place."""
        template, wanted = self._template(name)
        if wanted != variables.keys():
            missing, unknown = sorted(wanted - variables.keys()), sorted(variables.keys() - wanted)
            raise UsageError(
                f"The prompt {name!r} takes {', '.join(sorted(wanted)) or 'no variables'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}."
            )
        return template.render(**variables).strip()

    def versions(self) -> dict[str, str]:
        """Return name -> first 12 hex digits of the template's SHA-256."""
        return {name: sha256(self.source(name).encode())[:12] for name in self.names()}

    def _template(self, name: str) -> tuple[Template, frozenset[str]]:
        if name not in self._known:
            wanted = find_undeclared_variables(self._environment.parse(self.source(name)))
            self._known[name] = self._environment.get_template(name), frozenset(wanted)
        return self._known[name]


def _lines(items: Any) -> str:
    """Return one canonical JSON object a line: readable, and exact."""
    return "\n".join(json_line(item) for item in items) or "(none)"


@cache
def prompts() -> Prompts:
    """Return the templates that ship with OfficeTown."""
    return Prompts(files(__package__))


def render(name: str, /, **variables: Any) -> str:
    """Render a prompt that ships with OfficeTown. A missing or an unknown variable is a UsageError."""
    return prompts().render(name, **variables)


@cache
def versions() -> dict[str, str]:
    """Return name -> first 12 hex digits of the template's SHA-256: what a recorded run names."""
    return prompts().versions()
