"""The pages on commands and configuration say what there is, all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from bench.report import Line
from orchestrator import cli, settings
from services.models.endpoint import Effort, ToolsMode, Wire
from simulator import errors
from tests.orchestrator.support import JUNIPER, ROOT, Desk

COMMANDS = (ROOT / "docs" / "commands.md").read_text()
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
SECTIONS = {
    found[1]: found[2]
    for found in re.finditer(r"^### `officetown ((?:worlds )?[a-z-]+)[^`]*`\n(.*?)(?=^##|\Z)", COMMANDS, re.M | re.S)
}
ROOT_COMMAND = typer.main.get_command(cli.app)


def _flat(group: Any, before: str = "") -> dict[str, Any]:
    """The commands of a group, those of the groups in it included, by the words that call them."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= _flat(command, f"{before}{name} ")
        else:
            found[f"{before}{name}"] = command
    return found


EVERY = _flat(ROOT_COMMAND)


def options(command: str) -> set[str]:
    """The options of a command, `--json` and `--help` aside: they are everybody's."""
    found = EVERY[command].params
    return {o for p in found if p.param_type_name == "option" for o in (*p.opts, *p.secondary_opts)} - {
        "--json",
        "--help",
    }


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert set(SECTIONS) == set(EVERY)


@pytest.mark.parametrize("command", sorted(SECTIONS))
def test_a_section_lists_the_options_that_the_command_has(command: str) -> None:
    listed = {
        option
        for line in re.findall(r"^- (`-.*?):", SECTIONS[command], re.M)
        for option in re.findall(r"`(--?[a-z-]+)`", line)
    }
    assert listed == options(command)


def test_every_option_that_is_mentioned_anywhere_exists() -> None:
    known = {option for command in SECTIONS for option in options(command)} | {"--json", "--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", COMMANDS + CONFIGURATION)) <= known


@pytest.mark.parametrize("command", sorted(SECTIONS))
def test_every_command_ends_with_json_on_demand_and_explains_itself(desk: Desk, command: str) -> None:
    said = desk(*command.split(), "--help")
    assert said.code == 0
    assert "--json" in said.out
    found = EVERY[command]
    unexplained = [p.name for p in found.params if p.param_type_name == "option" and not p.help]
    assert (found.help or "").strip() and unexplained == []


def test_the_lines_of_a_report_have_the_keys_that_the_page_lists() -> None:
    listed = re.search(r"results\[\{(.*?)\}\]", SECTIONS["report"], re.S)
    assert listed is not None
    assert tuple(re.findall(r"\w+", listed[1])) == Line.__struct_fields__


def test_the_table_of_variables_is_that_of_the_settings() -> None:
    listed = re.findall(r"^\| `([A-Z_]+)` \|", CONFIGURATION, re.M)
    assert sorted(listed) == sorted(settings.VARIABLES)


def test_every_value_that_a_variable_may_have_is_listed() -> None:
    for variable, kind in (("EFFORT", Effort), ("WIRE", Wire), ("TOOLS", ToolsMode)):
        row = next(line for line in CONFIGURATION.splitlines() if f"`OFFICETOWN_MODEL_{variable}`" in line)
        assert {value for value in get_args(kind) if value} <= set(re.findall(r"`([a-z]+)`", row))


def test_the_exit_codes_are_those_of_the_errors() -> None:
    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.OfficeTownError)
    }
    listed = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", COMMANDS, re.M) for code in row.split(",")}
    assert listed == {0, 130, 143} | codes


def test_the_objects_shown_have_the_keys_that_the_commands_print(worked: Desk, tmp_path: Path) -> None:
    calls = {
        "offices": (), "costs": ("Juniper",), "show": ("Juniper",), "why": ("Juniper", "Handbook.md"),
        "who-can": ("Juniper", "Handbook.md"), "files": ("Juniper", "--as", "elena"), "replay": ("Juniper",), "doctor": (),
        "log": ("Juniper", "--hash"), "estimate": (JUNIPER, "--days", "5"), "report": (str(tmp_path),),
    }  # fmt: skip
    for command, arguments in calls.items():
        shown = re.search(r"`--json`.*?`\{(.*?)\}`", SECTIONS[command], re.S)
        assert shown is not None
        flat = shown[1]
        while re.search(r"[\[{][^\[\]{}]*[\]}]", flat):
            flat = re.sub(r"[\[{][^\[\]{}]*[\]}]", "", flat)
        assert set(re.findall(r"\w+", flat)) == set(worked.json(command, *arguments))
