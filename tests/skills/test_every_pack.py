"""What holds for every pack: figures by hand, same bytes, untouched inputs, clear faults, careless options."""

from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

import pytest

from services.documents.reading import parse_workbook_text
from tests.skills.cases import CASES, write
from tests.skills.packs import SCRIPTS, hashes, run, text

KINDS = sorted(CASES)
NINE_YEARS_LATER = """
import time
now, local, utc = time.time, time.localtime, time.gmtime
time.time = lambda: now() + 9 * 365 * 86400
time.localtime = lambda s=None: local(time.time() if s is None else s)
time.gmtime = lambda s=None: utc(time.time() if s is None else s)
"""


def test_every_pack_has_a_case() -> None:
    assert {*CASES, "spreadsheet-audit"} == set(SCRIPTS)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_worked_out_by_hand(kind: str, tmp_path: Path) -> None:
    """...on stdout, in the main deliverable, and in the prose, where ids are cited."""
    case = CASES[kind]
    ran = run(kind, tmp_path / "out", "2026-01", write(kind, tmp_path))
    assert (ran.code, ran.err) == (0, "")
    assert ran.figures == case.figures
    assert ran.answer["files"] == list(dict.fromkeys(case.files))
    assert sorted(hashes(tmp_path / "out")) == sorted(set(case.files))
    read = "\n".join(text(tmp_path / "out" / name) for name in case.files if not name.endswith((".xlsx", ".csv")))
    for label, value in case.figures.items():
        grouped = f"{float(value):,.2f}" if value[-3:-2] == "." else value
        assert f"{label}: {grouped}" in [line.strip() for line in read.splitlines()], label
    for key in case.cited:
        assert key in read


@pytest.mark.parametrize("kind", KINDS)
def test_same_inputs_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    """RULE 36: at another time, under another hash seed, in another zone; and inputs are never changed."""
    inputs = write(kind, tmp_path)
    before = hashes(tmp_path / "in")
    run(kind, tmp_path / "one", "2026-01", inputs, env={"PYTHONHASHSEED": "1", "TZ": "UTC"})
    for path in inputs.values():
        os.utime(path, (1, 1))
    shift = tmp_path / "later"
    shift.mkdir()
    (shift / "sitecustomize.py").write_text(NINE_YEARS_LATER, encoding="utf-8")
    later = {"PYTHONPATH": str(shift), "PYTHONHASHSEED": "99", "TZ": "Asia/Tokyo", "OFFICETOWN_NOW": "7"}
    run(kind, tmp_path / "two", "2026-01", inputs, env=later)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two") != {}
    assert hashes(tmp_path / "in") == before


@pytest.mark.parametrize("kind", KINDS)
def test_office_files_hold_no_time_of_writing(kind: str, tmp_path: Path) -> None:
    """RULE 36: members are stored, not deflated, and dated long ago; today's date is nowhere."""
    run(kind, tmp_path / "out", "2026-01", write(kind, tmp_path))
    for path in (tmp_path / "out").iterdir():
        assert time.strftime("%Y-%m-%d").encode() not in path.read_bytes()
        assert time.strftime("%Y%m%d").encode() not in path.read_bytes()
        if path.suffix in (".xlsx", ".docx"):
            with zipfile.ZipFile(path) as archive:
                assert {(i.compress_type, i.date_time[0]) for i in archive.infolist()} == {(zipfile.ZIP_STORED, 1980)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CASES[kind].files[0].endswith(".xlsx")])
def test_workbooks_lead_with_a_summary_of_live_formulas(kind: str, tmp_path: Path) -> None:
    case = CASES[kind]
    inputs = write(kind, tmp_path)
    run(kind, tmp_path / "out", "2026-01", inputs)
    run(kind, tmp_path / "flat", "2026-01", inputs, "--values-only")
    run(kind, tmp_path / "bare", "2026-01", inputs, "--no-evidence")
    live, flat, bare = (
        parse_workbook_text(text(tmp_path / folder / case.files[0]))[0] for folder in ("out", "flat", "bare")
    )
    assert live.name == "Summary"
    assert [live.value(1, column) for column in (1, 2, 3)] == ["Item", "Value", "Source"]
    assert [live.value(2, column) for column in (1, 2)] == ["Period", "2026-01"]
    assert [live.value(row, 1) for row in range(3, live.rows + 1)] == list(case.figures)
    for row, value in enumerate(case.figures.values(), 3):
        shown = live.value(row, 2)
        assert str(shown) == value or float(str(shown)) == float(value)
        assert flat.value(row, 2) == shown
        assert live.value(row, 3)
        assert bare.value(row, 3) is None
    assert any(cell.formula for cell in live.cells.values())
    assert not any(cell.formula for cell in flat.cells.values())


@pytest.mark.parametrize("kind", KINDS)
def test_careless_options_do_what_they_say(kind: str, tmp_path: Path) -> None:
    case = CASES[kind]
    inputs = write(kind, tmp_path)
    dropped = run(kind, tmp_path / "dropped", "2026-01", inputs, "--skip-last")
    assert {label: dropped.figures[label] for label in case.last_dropped} == case.last_dropped
    bare = run(kind, tmp_path / "bare", "2026-01", inputs, "--no-evidence")
    assert bare.figures == case.figures
    prose = [name for name in case.files if name.endswith((".md", ".docx", ".pdf"))]
    if kind not in ("management-pack",):
        read = "\n".join(text(tmp_path / "bare" / name) for name in prose)
        assert not [key for key in case.cited if key in read]


@pytest.mark.parametrize("kind", KINDS)
def test_malformed_inputs_end_with_a_located_line(kind: str, tmp_path: Path) -> None:
    inputs = write(kind, tmp_path)
    name, main = next(iter(inputs.items()))
    lines = CASES[kind].inputs[name]
    faults = {
        "": f"{name}.csv line 1",
        "a,b\n1,2\n": f"{name}.csv line 1: column ",
        f"{lines[0]}\n{lines[1]},surplus\n": f"{name}.csv line 2: ",
        f'{lines[0]}\n{lines[1]}\n"open': f"{name}.csv line 3: ",
        f"{lines[0]}\n\n{',' * lines[0].count(',')}\n{'~' + ',~' * lines[0].count(',')},\n": f"{name}.csv line 4: ",
    }
    for content, expected in faults.items():
        main.write_text(content, encoding="utf-8")
        ran = run(kind, tmp_path / "out", "2026-01", inputs)
        assert ran.code == 2, content
        assert ran.out == ""
        assert ran.err.count("\n") == 1
        assert expected in ran.err
    main.write_bytes(lines[0].encode() + b"\nab\xff\xfe\n")
    assert f"{name}.csv line 2: not UTF-8" in run(kind, tmp_path / "out", "2026-01", inputs).err


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_calls_end_with_one_line(kind: str, tmp_path: Path) -> None:
    inputs = write(kind, tmp_path)
    name = next(iter(inputs))
    calls = {
        **{
            f"--period {period}: neither a month as YYYY-MM nor a Monday as YYYY-MM-DD": run(
                kind, tmp_path / "out", period, inputs
            )
            for period in ("2026-13", "2026-02-30", "2026-01-06")
        },
        f"--input {name}=PATH is missing": run(
            kind, tmp_path / "out", "2026-01", {k: v for k, v in inputs.items() if k != name}
        ),
        "no such file": run(kind, tmp_path / "out", "2026-01", {**inputs, name: tmp_path / "absent.csv"}),
        "--input other=": run(kind, tmp_path / "out", "2026-01", {**inputs, "other": inputs[name]}),
        "--prior": run(kind, tmp_path / "out", "2026-01", inputs, prior=tmp_path / "absent.xlsx"),
    }
    for words, ran in calls.items():
        assert ran.code == 2, words
        assert words in ran.err
        assert ran.err.count("\n") == 1


def test_an_amount_is_located_by_line_and_column(tmp_path: Path) -> None:
    inputs = write("bank-reconciliation", tmp_path)
    inputs["bank"].write_text('date,ref,description,amount\n2026-01-05,D1,Deposit,"1,000.00"\n', encoding="utf-8")
    ran = run("bank-reconciliation", tmp_path / "out", "2026-01", inputs)
    assert ran.err == "bank.csv line 2 column amount: '1,000.00' is not an amount such as 1234.56\n"


def test_a_deliverable_never_replaces_an_input(tmp_path: Path) -> None:
    inputs = write("records-digest", tmp_path)
    run("records-digest", tmp_path / "out", "2026-01", inputs)
    before = hashes(tmp_path / "out")
    ran = run("records-digest", tmp_path / "out", "2026-02", inputs, prior=tmp_path / "out" / "Digest.xlsx")
    assert ran.code == 2
    assert "would replace an input" in ran.err
    assert hashes(tmp_path / "out") == before
