"""The packs as packs: the convention of Agent Skills, one shared helper, one command to fill in; auditing workbooks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
import yaml

from tests.skills.cases import CASES, write
from tests.skills.packs import PACKS, SCRIPTS, run

FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
SECTIONS = ["When to use", "Inputs", "Run", "What it does", "Check the result", "Professional rules", "Common mistakes"]


def front_and_body(name: str) -> tuple[dict[str, object], str]:
    content = (PACKS / name / "SKILL.md").read_text(encoding="utf-8")
    _, front, body = content.split("---\n", 2)
    return yaml.safe_load(front), body


def template(name: str) -> str:
    blocks = re.findall(r"^```sh\n(.*?)\n```$", front_and_body(name)[1], re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    return str(blocks[0])


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_pack_follows_the_convention(name: str) -> None:
    front, body = front_and_body(name)
    assert set(front) <= FIELDS
    assert front["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 64
    description = str(front["description"])
    assert 80 < len(description) <= 1024
    assert "; use " in description
    metadata = front["metadata"]
    assert isinstance(metadata, dict)
    assert {"domain", "version", "inputs", "outputs"} == set(metadata)
    assert all(isinstance(value, str) for value in metadata.values())
    assert len(body.splitlines()) < 500
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == SECTIONS


def test_the_reference_validator_agrees() -> None:
    tool = shutil.which("agentskills", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("skills-ref is not installed")
    for name in SCRIPTS:
        done = subprocess.run([tool, "validate", str(PACKS / name)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_nine_work_kinds_and_five_general_packs() -> None:
    domains = {name: front_and_body(name)[0]["metadata"] for name in SCRIPTS}
    general = [
        name for name, metadata in domains.items() if isinstance(metadata, dict) and metadata["domain"] == "general"
    ]
    assert len(general) >= 5
    page = (PACKS.parents[1] / "docs" / "decisions" / "0002-work-kinds.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^### ([a-z-]+)$", page, re.MULTILINE))
    assert len(kinds) == 9
    assert kinds <= set(SCRIPTS)


def test_the_shared_helper_is_the_same_everywhere() -> None:
    for shared in sorted((PACKS / "_shared").glob("*.py")):
        for script in SCRIPTS.values():
            assert (script.parent / shared.name).read_bytes() == shared.read_bytes()


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_the_command_of_a_pack_runs_as_written(name: str, tmp_path: Path) -> None:
    """Braces filled, optional parts left out: the template names this pack's script and every input it needs."""
    command = template(name)
    assert command.startswith(f"python3 /mnt/company/Resources/Skills/{name}/scripts/{SCRIPTS[name].name} ")
    assert set(re.findall(r"\{(\w+)(?::[\w-]+)?\}", command)) <= {"out", "period", "input", "prior", "from"}
    if name == "spreadsheet-audit":
        inputs = {"workbook": tmp_path / "b.xlsx"}
        openpyxl.Workbook().save(inputs["workbook"])
    else:
        inputs = write(name, tmp_path)
    words = [sys.executable, "-B", str(SCRIPTS[name])]
    for word in re.sub(r"\[[^]]*\]", "", command).split()[2:]:
        filled = word.replace("{out}", str(tmp_path / "out")).replace("{period}", "2026-01")
        words.append(re.sub(r"\{input:(\w+)\}", lambda found: str(inputs[found[1]]), filled))
    done = subprocess.run(words, capture_output=True, text=True, env={}, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\[--prior \{prior\}\]", command) or name in ("spreadsheet-audit", "memo-writing")


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_run_is_quick(name: str, tmp_path: Path) -> None:
    inputs = write(name, tmp_path)
    run(name, tmp_path / "warm", "2026-01", inputs)
    best = min(_cpu(name, tmp_path / "out", inputs) for _ in range(2))
    assert best < 1.2  # about 0.1 to 0.3 s on an idle core; the bound leaves room for a loaded one


def _cpu(name: str, out: Path, inputs: dict[str, Path]) -> float:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(name, out, "2026-01", inputs)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_nothing_of_this_workplace_is_in_the_packs() -> None:
    for path in PACKS.rglob("*"):
        if path.is_file() and path.suffix in (".md", ".py"):
            words = path.read_text(encoding="utf-8")
            assert "/work/" not in words
            assert "/tmp/" not in words


def audit(tmp_path: Path, path: Path) -> list[tuple[str, str, str]]:
    ran = run("spreadsheet-audit", tmp_path / "out", "2026-01", {"workbook": path})
    assert (ran.code, ran.err) == (0, "")
    assert ran.figures["Findings"] == str(len(ran.answer["findings"]))
    return [(found["sheet"], found["cell"], found["finding"]) for found in ran.answer["findings"]]


def test_an_audit_finds_what_is_wrong_and_only_that(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    book = xlsxwriter.Workbook(path)
    page = book.add_worksheet("Costs")
    page.write_column("A1", ["Item", "a", "b", "c", "Total", "Total short", "Total typed", "Ratio"])
    page.write_column("B1", ["Cost", 1.1, 2.2, 3.3])
    page.write_formula("B5", "=SUM(B2:B4)", None, 6.6)
    page.write_formula("B6", "=SUM(B2:B3)", None, 3.3)
    page.write_number("B7", 6.6)
    page.write_formula("B8", "=B5/0", None, "#DIV/0!")
    page.write_column("C2", ["1,100", "note"])
    page.write_formula("C5", "=B2+B3", None, 9.9)
    page.write_formula("D5", "=VLOOKUP(1,A1:B2,2)", None, 4)
    book.close()
    assert audit(tmp_path, path) == [
        ("Costs", "C2", "number as text"),
        ("Costs", "C5", "stale value"),
        ("Costs", "B6", "range too short"),
        ("Costs", "B7", "typed-in total"),
        ("Costs", "B8", "error value"),
    ]
    again = openpyxl.load_workbook(path)
    again.save(tmp_path / "c.xlsx")
    assert ("Costs", "B5", "no stored value") in audit(tmp_path, tmp_path / "c.xlsx")


def test_audits_of_the_packs_own_workbooks_are_clean(tmp_path: Path) -> None:
    for kind in sorted(kind for kind in CASES if CASES[kind].files[0].endswith(".xlsx")):
        run(kind, tmp_path / kind, "2026-01", write(kind, tmp_path / kind))
        assert audit(tmp_path, tmp_path / kind / CASES[kind].files[0]) == [], kind
