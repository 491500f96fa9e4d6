"""Prompts are documents: one template file each, strict variables, versioned by their content (DESIGN 10).

`docs/prompts.md` says who reads each and when. What others wrote enters a template through one of three filters alone:
`lines` (JSON, exact), `quote` (a block that is read as prose), `line` (a name or a title within a sentence).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from simulator.canonical import sha256
from simulator.quoting import json_line, one_line, quoted


def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md.j2").read_text("utf-8")


def _lines(items: Any) -> str:
    """Return one canonical JSON object a line: readable, and exact."""
    return "\n".join(json_line(item) for item in items) or "(none)"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # Prompts are text for a model, not HTML: escaping would change what is said.
    environment = Environment(
        loader=FunctionLoader(_source),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701
    )
    environment.filters.update(lines=_lines, line=one_line, quote=quoted)
    return environment


@lru_cache(maxsize=64)
def _template(name: str) -> Template:
    return _environment().get_template(name)


def render(name: str, /, **variables: Any) -> str:
    """Render a prompt. A missing variable is an error, never an empty place."""
    return _template(name).render(**variables).strip()


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return name -> first 12 hex digits of the template's SHA-256: what a recorded run names."""
    names = sorted(f.name.removesuffix(".md.j2") for f in files(__package__).iterdir() if f.name.endswith(".md.j2"))
    return {name: sha256(_source(name).encode())[:12] for name in names}
