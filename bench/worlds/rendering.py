"""How a simulator is told its environment, and how the public repository's prompts are read.

A public prompt is prose in which every brace is doubled, with `{{placeholders}}` that nobody filled in, and behind it the
values of these placeholders. `verbatim` sends it byte for byte; `clean` takes the prose alone and renders the rest from
the structured fields.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from bench.worlds.model import Environment
from simulator.quoting import escaped

SECTIONS = {
    "initial_state": "Initial state", "state_descriptions": "Fields of the state", "action_set_definitions": "Tools",
}  # fmt: skip
_NAMES = "|".join(SECTIONS)
_TAIL = re.compile(rf"^\{{{{1,2}}({_NAMES})\}}{{1,2}}:[ \t]*", re.MULTILINE)
_FENCED = re.compile(rf"```(?:json)?[ \t]*\n\s*\{{{{1,2}}({_NAMES})\}}{{1,2}}\s*\n```")
_PLACEHOLDER = re.compile(rf"\{{{{1,2}}({_NAMES})\}}{{1,2}}")
_RUNS = re.compile(r"\{+|\}+")


class PublicPrompt(msgspec.Struct, frozen=True):
    """A public prompt taken apart: prose as the authors wrote it, placeholders in it, the values behind it.

    `embedded` maps a section to its parsed value, or to None where it could not be parsed.
    """

    prose: str
    placeholders: tuple[str, ...]
    embedded: dict[str, Any]
    doubled: bool


def take_apart(prompt: str) -> PublicPrompt:
    """Return the parts of a public prompt."""
    heads = list(_TAIL.finditer(prompt))
    prose = prompt[: heads[0].start()] if heads else prompt
    embedded: dict[str, Any] = {}
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(prompt)
        embedded[head[1]] = _parsed(prompt[head.end() : end].strip())
    names = tuple(match[1] for match in _PLACEHOLDER.finditer(prompt))
    return PublicPrompt(prose, names, embedded, bool(heads) and "{{" in prompt[heads[0].end() :])


def _parsed(text: str) -> Any:
    # In doubled text each brace is doubled, those within strings of the values included or not: both are met.
    for candidate in (text, text.replace("{{", "{").replace("}}", "}"), _undoubled(text)):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return None


def _undoubled(text: str) -> str:
    return _RUNS.sub(lambda run: run[0][0] * ((len(run[0]) + 1) // 2), text)


def clean_prose(prose: str) -> str:
    """Return the prose without placeholder and without doubled brace: sections are referred to by their heading."""
    text = _FENCED.sub(lambda match: f'(See "{SECTIONS[match[1]]}" below.)', prose)
    text = _PLACEHOLDER.sub(lambda match: match[1], text)
    return _RUNS.sub(lambda run: " ".join(run[0][0] * ((len(run[0]) + 1) // 2)), text).strip()


def shown_json(value: Any) -> str:
    """Return indented JSON of a value in which no two braces stand side by side: the same value when parsed."""
    text = escaped(json.dumps(value, ensure_ascii=False, indent=2))
    return text.replace("{}", "{ }").replace("{{", "{\\u007b").replace("}}", "}\\u007d")


def system_prompt(environment: Environment, with_state: bool = True) -> str:
    """Return what a simulator is told of its environment, in the environment's own rendering."""
    if environment.rendering == "verbatim" and environment.prompt:
        return environment.prompt
    parts = [environment.rules.strip()]
    if environment.source != "imported":
        title = _spaced(environment.title or environment.name)
        parts.insert(
            0, f"# {title}\nYou are this environment: you answer the tool calls of a professional at work in it."
        )
    if environment.fields:
        parts.append(f"# {SECTIONS['state_descriptions']}\n```json\n{shown_json(environment.fields)}\n```")
    if environment.invariants:
        listed = "\n".join(f"- {_spaced(invariant.text)}" for invariant in environment.invariants)
        parts.append(f"# What always holds\n{listed}")
    if with_state:
        parts.append(f"# {SECTIONS['initial_state']}\n```json\n{shown_json(environment.initial_state)}\n```")
    parts.append(f"# {SECTIONS['action_set_definitions']}\n```json\n{shown_json(tool_cards(environment))}\n```")
    return "\n\n".join(parts)


def _spaced(text: str) -> str:
    return _RUNS.sub(lambda run: " ".join(run[0]), text)


def tool_cards(environment: Environment) -> dict[str, Any]:
    """Return the tools as a simulator reads them: by name, with description, parameters and example."""
    return {
        tool.name: {
            "description": tool.description,
            "parameters": tool.parameters,
            **({} if tool.example_output is None else {"example_output": tool.example_output}),
        }
        for tool in environment.tools
    }
