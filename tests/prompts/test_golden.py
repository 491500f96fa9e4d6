"""Prompts are documents: what each renders to is on file, to be read and reviewed.

`OFFICETOWN_REFRESH_GOLDENS=1 python -m pytest tests/prompts` writes the golden files anew after a change of wording.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from services.offline.heard import Heard, card_of, sections
from simulator.conversation import Message, ModelRequest
from simulator.errors import UsageError
from simulator.prompts import Prompts, prompts, render, versions
from tests.prompts.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"
DOCUMENTED = Path(__file__).parents[2] / "docs" / "prompts.md"
REFRESH = os.environ.get("OFFICETOWN_REFRESH_GOLDENS") == "1"
NAMES = prompts().names()


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_reads_as_the_golden_file_says(name: str) -> None:
    rendered = render(name, **SAMPLES[name]) + "\n"
    golden = GOLDEN / f"{name}.md"
    if REFRESH:
        golden.write_text(rendered, "utf-8")
        pytest.skip("written anew")
    assert rendered == golden.read_text("utf-8"), "wording changed: look at the difference, then refresh the golden files"


def test_there_is_a_sample_a_golden_file_and_a_line_of_documentation_for_each() -> None:
    assert tuple(sorted(SAMPLES)) == NAMES
    assert sorted(path.name for path in GOLDEN.iterdir()) == [f"{name}.md" for name in NAMES]
    assert sorted(re.findall(r"^\| `(\w+)` \|", DOCUMENTED.read_text("utf-8"), re.MULTILINE)) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_or_unknown_variable_is_an_error(name: str) -> None:
    sample = SAMPLES[name]
    assert set(sample) == prompts().variables(name)
    for missing in sample:
        with pytest.raises(UsageError, match=f"missing: {missing};"):
            render(name, **{key: value for key, value in sample.items() if key != missing})
    with pytest.raises(UsageError, match="unknown: surprise"):
        render(name, **sample, surprise=1)


def test_an_attribute_that_is_not_there_is_no_empty_place(tmp_path: Path) -> None:
    (tmp_path / "deep.md.j2").write_text("{{ person.nickname }}")
    with pytest.raises(Exception, match="nickname"):
        Prompts(tmp_path).render("deep", person={})


def test_a_prompt_that_does_not_exist_is_told() -> None:
    with pytest.raises(UsageError, match="no prompt 'wakee'; there are: .*wake"):
        render("wakee")


def test_a_version_is_the_templates_content(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.md.j2").write_text(prompts().source(name), "utf-8")
    (tmp_path / "notes.txt").write_text("no template")
    before = Prompts(tmp_path).versions()
    assert before == versions()
    assert all(re.fullmatch(r"[0-9a-f]{12}", version) for version in before.values())
    (tmp_path / "wake.md.j2").write_text(prompts().source("wake") + " ", "utf-8")
    after = Prompts(tmp_path).versions()
    assert {name for name in NAMES if after[name] != before[name]} == {"wake"}


def test_only_the_filters_bring_in_what_others_wrote() -> None:
    """Whatever is put in raw was itself rendered from a template or a task page, is a number, or is a fixed word."""
    raw = {
        (name, variable)
        for name in NAMES
        for variable in re.findall(r"{{ (\w+) }}", prompts().source(name))
    }
    assert raw == {
        ("assistant_round", "round"), ("assistant_round", "task"), ("assistant_task", "task"), ("branch", "turns"),
        ("compacted", "prompt"), ("meeting_turn", "turns_left"), ("meeting_turn", "view"), ("principal_system", "turns"),
    }  # fmt: skip


def test_prompts_stay_short() -> None:
    """The office is described in few words: what is said at every call is paid for at every call."""
    assert sum(len(prompts().source(name)) for name in NAMES) < 12_000
    assert max(len(prompts().source(name)) for name in NAMES) < 4_000


@pytest.mark.parametrize(("name", "late"), [
    ("principal_system", "matters"), ("client_system", "demands"), ("assistant_system", "now"), ("meeting_turn", "transcript"),
])  # fmt: skip
def test_what_changes_stands_last(name: str, late: str) -> None:
    """The part before is the same at every call and may be cached by the provider."""
    first = render(name, **SAMPLES[name])
    changed: dict[str, object] = {"now": "Tuesday 6 January 2026, 09:00"} if late == "now" else {late: [{"who": "x", "id": "y"}]}
    second = render(name, **{**SAMPLES[name], **changed})
    common = os.path.commonprefix([first, second])
    assert first != second
    assert len(common) > 0.5 * len(first) or name == "meeting_turn" and SAMPLES[name]["view"] in common


def test_the_offline_professional_reads_them() -> None:
    """The golden prompts are what its parser is held to."""
    card = card_of(render("principal_system", **SAMPLES["principal_system"]))
    assert (card.name, card.title, card.firm, card.id) == ("Daniel Reyes", "Accountant", "Juniper & Co", "daniel")
    assert set(card.colleagues) == {"ines"} and set(card.matters) == {"riverbend"} and set(card.skills) == {"bank-reconciliation"}
    client = card_of(render("client_system", **SAMPLES["client_system"]))
    assert (client.name, client.firm, client.provider) == ("Maya Chen", "Riverbend Outdoor", "Juniper & Co")
    assert [row["kind"] for row in sections(render("wake", **SAMPLES["wake"]))["What wakes you"]] == ["mail", "today"]
    for name, part in (("branch", "branch"), ("compaction", "compaction")):
        messages = (Message("system", "You are"), Message("user", render(name, **SAMPLES[name])))
        assert Heard(ModelRequest("principal", ("a", 1), "s", messages)).part == part
