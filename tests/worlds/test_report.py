"""Reports: each number with n and interval, as Markdown, CSV, SVG and PNG; two runs side by side."""

from __future__ import annotations

import csv
import io
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.model import Detection, Fault, FaultLevel, Outcome, Side, Step, Trial, Verdict, Vote
from bench.worlds.plots import Box, Drawing, Line, Point, Series, Words, bars, curves, grid, png, svg
from bench.worlds.report import read_cards, report, write_report
from bench.worlds.report_pairs import Run, align, side_by_side
from bench.worlds.report_tables import (
    ModelCard,
    Share,
    Table,
    all_tables,
    as_csv,
    label,
    markdown,
    mixed,
    scores_of,
    shown,
)
from bench.worlds.statistics import wilson
from simulator.conversation import Usage
from simulator.errors import UsageError

MARKS: dict[str, Outcome] = {"+": "passed", "-": "failed", "i": "infra_error", "x": "invalid"}
PIXELS = b"\x89PNG\r\n\x1a\n"


def trial(task: str = "t", outcome: Outcome = "passed", agent: str = "m1", **more: Any) -> Trial:
    """A finished trial; what a test does not name is plain."""
    given: dict[str, Any] = {
        "environment": "desk", "agent": Side("model", agent, more.pop("effort", "")), "verifier": Side("model", "judge"),
        "simulator": Side("model", more.pop("simulator", "sim")), "fault_level": "E0", "attempt": 1, "settings": "s",
    }  # fmt: skip
    return Trial(task=task, outcome=outcome, **(given | more))


def trials(marks: str, level: FaultLevel = "E0", **more: Any) -> list[Trial]:
    """One trial a task, by marks: `+` passed, `-` failed, `i` infrastructure, `x` invalid."""
    return [trial(f"t{at}", MARKS[mark], fault_level=level, **more) for at, mark in enumerate(marks)]


def table(found: list[Table], name: str) -> Table:
    return next(one for one in found if one.name == name)


LEVELS: tuple[tuple[FaultLevel, str], ...] = (
    ("E0", "++++++++--"), ("E1", "+++++++---"), ("E2", "+++++-----"), ("E3", "++++++----"),
)  # fmt: skip


# -- tables ---------------------------------------------------------------------------------------------------------------


def test_a_side_is_called_by_its_model_its_effort_and_what_is_unusual() -> None:
    assert label(Side("model", "m1", "high")) == "m1 high"
    assert label(Side("offline"), "offline") == "offline"
    assert label(Side("cmd:tool", "m1")) == "cmd:tool m1"
    assert label(Side("model", "m1"), "stateless") == "m1 (stateless)"


def test_completion_by_hand_with_what_was_no_score_beside_it() -> None:
    (row,) = table(all_tables(trials("++-ix")), "completion").rows
    ends = wilson(2, 3)
    assert row == ("m1", "sim", "E0", Share(2 / 3, ends.low, ends.high, 3), 3, 1, 1)


def test_robustness_by_hand() -> None:
    """0.5 / 0.8 = 0.625, worst under E2."""
    (row,) = table(all_tables([one for level, marks in LEVELS for one in trials(marks, level)]), "robustness").rows
    assert row[:2] == ("m1", "sim")
    assert isinstance(row[2], Share) and row[2].value == pytest.approx(0.625) and row[2].n == 10
    assert row[3] == "E2"
    assert [cell.value for cell in row[4:8] if isinstance(cell, Share)] == [0.8, 0.7, 0.5, 0.6]
    assert shown(row[2]).startswith("0.625 [")


def test_robustness_that_cannot_be_given_says_why() -> None:
    (row,) = table(all_tables([*trials("+"), *trials("+", "E2")]), "robustness").rows
    assert row[-1] == "no scored runs under E1, E3"
    assert isinstance(row[2], Share) and shown(row[2]) == "no score (n = 0)"


def test_industries_for_each_agent_and_for_all() -> None:
    found = all_tables([
        *trials("+-", industry="Farms"), *trials("++", industry="Banks"), *trials("--", industry="Banks", agent="m2"),
        *trials("-", "E1", industry="Farms"),
    ])  # fmt: skip
    rows = [
        (row[0], row[2], row[3].value, row[3].n) for row in table(found, "industries").rows if isinstance(row[3], Share)
    ]
    assert rows == [
        ("all agents", "Banks", 0.5, 4), ("all agents", "Farms", 0.5, 2), ("m1", "Banks", 1.0, 2), ("m1", "Farms", 0.5, 2),
        ("m2", "Banks", 0.0, 2),
    ]  # fmt: skip


def test_bounds_are_never_pooled_with_agents() -> None:
    """Doing nothing fails and the script passes; neither says anything of what agents can do."""
    bounds = [trial(agent="", industry="Banks", outcome=said) for said in ("passed", "failed")]
    bounds = [msgspec.structs.replace(one, agent=Side(who)) for one, who in zip(bounds, ("oracle", "nop"), strict=True)]
    one = [*bounds, *trials("+-", industry="Banks")]
    assert "all agents" not in [row[0] for row in table(all_tables(one), "industries").rows]
    two = [*one, *trials("++", industry="Banks", agent="m2")]
    (pooled,) = [row for row in table(all_tables(two), "industries").rows if row[0] == "all agents"]
    assert isinstance(pooled[3], Share) and (pooled[3].value, pooled[3].n) == (0.75, 4)
    assert "75.0 %  n = 4" in words(report(two).plots["industries"])
    assert "industries" not in report(bounds).plots


def test_scale_generation_and_effort_need_to_be_known() -> None:
    assert {one.name for one in all_tables(trials("+"))} == {"completion", "difficulty", "runs"}
    cards = {"m1": ModelCard("M", "1", "8B"), "m2": ModelCard("M", "2", "70B")}
    found = all_tables(
        [*trials("+-"), *trials("++", agent="m2"), *trials("+", effort="high"), *trials("-", effort="low")], cards
    )
    assert [row[:3] for row in table(found, "scales").rows if row[0] == "all agents"] == [
        ("all agents", "sim", "70B"), ("all agents", "sim", "8B"),
    ]  # fmt: skip
    assert ("m2", "sim", "M 2") in [row[:3] for row in table(found, "generations").rows]
    assert [row[:3] for row in table(found, "efforts").rows] == [("m1", "sim", "high"), ("m1", "sim", "low")]


def test_difficulty_and_consistency() -> None:
    found = all_tables([*trials("++-"), *trials("+--", attempt=2)])
    rows = table(found, "consistency").rows
    assert [(row[2], row[3].value) for row in rows if isinstance(row[3], Share)] == [
        (1, 0.5),
        (2, pytest.approx(1 / 3)),
    ]
    (hard,) = table(all_tables([trial(level=3)]), "difficulty").rows
    assert hard[:3] == ("m1", "sim", "3")


def test_simulators_side_by_side_and_how_they_agree() -> None:
    found = all_tables([
        *trials("+++-"), *trials("+---", agent="m2"), *trials("+---", simulator="other"),
        *trials("++-i", agent="m2", simulator="other"),
    ])  # fmt: skip
    grid_ = table(found, "matrix")
    assert grid_.columns == ("agent", "other", "sim")
    assert [cell.value for cell in grid_.rows[0][1:] if isinstance(cell, Share)] == [0.25, 0.75]
    assert grid_.rows[2] == ("mean", "45.8 %", "50.0 %")
    (pair,) = table(found, "agreement").rows
    assert isinstance(pair[2], Share) and (pair[2].value, pair[2].n) == (0.0, 1)
    assert [row[:2] for row in table(found, "ensembles").rows] == [
        ("m1", "1 of 2"), ("m2", "1 of 2"), ("m1", "2 of 2"), ("m2", "2 of 2"),
    ]  # fmt: skip


def test_kinds_of_failure_are_shares_of_failed_runs() -> None:
    runs = [
        trial("a", "failed", labels=("subgoal_missing", "gave_up_at_first_error")), trial("b", "failed", labels=("subgoal_missing",)),
        trial("c", "failed"), trial("d", labels=("repeated_calls",)), trial("e", "infra_error", labels=("no_calls",)),
    ]  # fmt: skip
    rows = table(all_tables(runs), "failures").rows
    assert [(row[1], row[2]) for row in rows] == [
        ("subgoal_missing", 2),
        ("gave_up_at_first_error", 1),
        ("(not shown by code)", 1),
    ]
    assert isinstance(rows[0][3], Share) and rows[0][3].value == pytest.approx(2 / 3) and rows[0][3].n == 3


def test_what_simulators_were_caught_at() -> None:
    runs = [
        trial("a", detections={"fabricated_entity": 3}, steps=10),
        trial("b", steps=5),
        trial("c", "infra_error", steps=9),
    ]
    (row,) = table(all_tables(runs), "detections").rows
    assert row[:2] == ("sim", "fabricated_entity")
    assert isinstance(row[2], Share) and (row[2].value, row[2].n) == (0.5, 2)
    assert row[3:] == (3, 15)


def test_runs_that_differ_in_hidden_settings_are_counted() -> None:
    runs = [trial(), trial(settings="other"), trial("u"), trial(attempt=2, settings="third")]
    assert mixed(runs) == 1
    assert "1 runs differ from another only in settings" in report(runs).head
    assert "differ from another" not in report(trials("++")).head


def test_a_task_is_known_by_its_environment_too() -> None:
    assert {one.task for one in scores_of([trial(), trial(environment="other")])} == {"desk/t", "other/t"}


def test_rates_under_different_simulators_are_never_pooled() -> None:
    """Agent m1 passes all under one simulator and none under the other: nowhere does it stand at one half."""
    cards = {"m1": ModelCard("M", "1", "8B")}
    runs = [
        *trials("++", industry="Banks", effort="low"),
        *trials("--", industry="Banks", effort="low", simulator="other"),
    ]
    runs += [*trials("++", "E1", effort="low")]
    found = report(runs, cards)
    shares = [
        cell
        for one in found.tables
        for row in one.rows
        for cell in row
        if isinstance(cell, Share) and one.name != "agreement"
    ]
    assert {cell.value for cell in shares} <= {0.0, 1.0, None}
    for name, drawing in found.plots.items():
        assert not any(isinstance(shape, Words) and shape.text.startswith("50.0 %") for shape in drawing.shapes), name
    assert set(found.plots) == {
        "industries-1",
        "robustness",
        "failures",
        "industries-2",
        "agents",
        "faults",
        "matrix",
        "efforts",
        "generations",
        "scales",
    }


# -- forms --------------------------------------------------------------------------------------------------------------


def test_markdown_keeps_hostile_names_in_their_cell() -> None:
    hostile = "a|b\n<script>x</script> [c](javascript:d) `e`"
    text = markdown(Table("x", "T", ("agent",), ((hostile,),)))
    row = text.split("\n")[4]
    assert row == "| a\\|b &lt;script>x&lt;/script> \\[c](javascript:d) \\`e\\` |"


def test_csv_spreads_shares_and_disarms_formulas() -> None:
    text = as_csv(
        Table("x", "T", ("agent", "rate"), (("=cmd()", Share(0.5, 0.25, 0.75, 8)), ("-1", Share(None, None, None, 0))))
    )
    assert list(csv.reader(io.StringIO(text))) == [
        ["agent", "rate", "rate low", "rate high", "rate n"],
        ["'=cmd()", "0.500000", "0.250000", "0.750000", "8"],
        ["'-1", "", "", "", "0"],
    ]


def test_csv_keeps_its_columns_where_a_row_has_a_word_in_place_of_a_share() -> None:
    text = as_csv(Table("x", "T", ("agent", "s"), (("a", Share(0.5, 0.2, 0.8, 4)), ("mean", "50.0 %"))))
    assert {len(row) for row in csv.reader(io.StringIO(text))} == {5}


def test_a_report_folder(tmp_path: Path) -> None:
    """Every table is in the Markdown and a CSV; every plot is an SVG that parses and a PNG of twice its size."""
    runs = [one for level, marks in LEVELS for one in trials(marks, level, industry="Banks")]
    runs += [*trials("+-", agent="m2", effort="low"), *trials("++", agent="m2", effort="high", simulator="other")]
    found = report(runs, {"m2": ModelCard("M", "2", "8B")})
    files = write_report(tmp_path, found)
    text = (tmp_path / "report.md").read_text()
    for one in found.tables:
        assert f"## {one.title}" in text
        assert (tmp_path / "tables" / f"{one.name}.csv") in files
    assert set(found.plots) == {
        "industries-2", "agents", "faults", "efforts", "generations", "scales", "matrix", "robustness", "failures",
    }  # fmt: skip
    for name, drawing in found.plots.items():
        root = ET.fromstring((tmp_path / "plots" / f"{name}.svg").read_text())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        data = (tmp_path / "plots" / f"{name}.png").read_bytes()
        assert data.startswith(PIXELS)
        assert struct.unpack(">II", data[16:24]) == (2 * drawing.width, 2 * drawing.height)
        assert f"plots/{name}.svg" in text


def test_the_same_trials_give_the_same_bytes(tmp_path: Path) -> None:
    runs = [one for level, marks in LEVELS for one in trials(marks, level, industry="Banks")]
    first, second = (write_report(tmp_path / name, report(runs)) for name in ("a", "b"))
    assert [one.read_bytes() for one in first] == [two.read_bytes() for two in second]


def test_the_head_says_what_the_runs_were() -> None:
    head = report([*trials("+-i"), *trials("+", simulator_mode="offline")]).head
    assert "4 runs of 3 tasks: 1 failed, 1 infra_error, 2 passed." in head
    assert "Modes of the simulator: offline, stateful." in head
    with pytest.raises(UsageError, match="no trials"):
        report([])


def test_every_run_is_listed_with_how_it_failed(tmp_path: Path) -> None:
    runs = [
        trial("a", "failed", labels=("no_calls", "step_limit"), settings="f" * 32, usage={"agent": Usage(100, 0, 20)}),
        trial("b"),
    ]
    rows = table(all_tables(runs), "runs").rows
    assert rows[0][0] == "f" * 32 + "-1" and rows[0][7:9] == ("failed", "no_calls, step_limit") and rows[0][11] == 120
    write_report(tmp_path, report([*runs, *(trial(f"t{at}") for at in range(130))]))
    assert "132 rows: see `tables/runs.csv`." in (tmp_path / "report.md").read_text()
    assert len((tmp_path / "tables" / "runs.csv").read_text().splitlines()) == 133


def test_models_are_described_in_a_file(tmp_path: Path) -> None:
    """Generations are texts: 4.10 does not become 4.1."""
    place = tmp_path / "models.yaml"
    place.write_text("m1: {family: M, generation: 4.10, scale: 8B}\nm2: {}\n")
    assert read_cards(place) == {"m1": ModelCard("M", "4.10", "8B"), "m2": ModelCard()}
    place.write_text("m1: {colour: red}\n")
    with pytest.raises(UsageError, match="family, generation, scale"):
        read_cards(place)
    with pytest.raises(UsageError, match="cannot be read"):
        read_cards(tmp_path / "none.yaml")


# -- plots ------------------------------------------------------------------------------------------------------------


def words(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Words)]


def test_a_bar_shows_its_value_and_n_and_no_score_is_no_bar() -> None:
    drawing = bars("T", [Point("a", 0.625, 0.3, 0.86, 8), Point("b", None)], "note")
    assert "62.5 %  n = 8" in words(drawing) and "no score" in words(drawing) and "note" in words(drawing)
    assert sum(type(shape).__name__ == "Box" for shape in drawing.shapes) == 1


def test_a_ratio_is_no_percentage_and_may_pass_one() -> None:
    drawing = bars("R", [Point("a", 1.25, 0.9, 1.5, 8)], ratio=True)
    assert "1.250  n = 8" in words(drawing) and "0.25" in words(drawing)
    (box,) = [shape for shape in drawing.shapes if isinstance(shape, Box)]
    assert box.x + box.width <= drawing.width - 130


def test_r_and_the_kinds_of_failure_are_drawn() -> None:
    runs = [one for level, marks in LEVELS for one in trials(marks, level)] + [
        trial("z", "failed", labels=("no_calls",))
    ]
    plots = report(runs).plots
    assert "0.625  n = 10" in words(plots["robustness"])
    assert "m1: no calls" in words(plots["failures"])


def test_a_curve_is_broken_where_there_is_no_score() -> None:
    three = tuple(Point(level, 0.5, n=1) for level in ("E0", "E1", "E3"))
    drawing = curves("T", ("E0", "E1", "E2", "E3"), [Series("a", three)])
    assert sum(isinstance(shape, Line) and shape.width == 2.0 for shape in drawing.shapes) == 1


def test_a_grid_tells_never_run_from_no_score() -> None:
    drawing = grid("T", [Series("a", (Point("s", 0.9, n=10), Point("v", None)))], ("s", "v", "w"))
    assert words(drawing).count("no score") == 1
    assert "90.0 %" in words(drawing) and "n = 10" in words(drawing)


def test_names_cannot_break_out_of_the_picture() -> None:
    hostile = '</text><script>alert(1)</script>"&\x00'
    drawing = bars(hostile, [Point(hostile, 0.5, n=1)])
    root = ET.fromstring(svg(drawing).decode())
    assert {child.tag.split("}")[1] for child in root.iter()} == {"svg", "title", "rect", "line", "text"}
    assert png(drawing).startswith(PIXELS)


def test_letters_that_the_font_lacks_do_not_stop_a_picture() -> None:
    for text in ("Ünïcode", "\u6f22\u5b57", "a" * 500, ""):
        assert png(bars(text, [Point(text, 1.0, n=1)])).startswith(PIXELS)


def test_empty_charts_can_be_drawn() -> None:
    for drawing in (bars("T", []), curves("T", [], []), grid("T", [], [])):
        assert ET.fromstring(svg(drawing).decode()) is not None


# -- side by side -------------------------------------------------------------------------------------------------------


def step(number: int, tool: str, arguments: dict[str, Any] | None, observation: Any = None, **more: Any) -> Step:
    return Step(number, number, tool, arguments, more.pop("status", "answered"), observation, "h", **more)


def test_runs_are_paired_where_they_made_the_same_call() -> None:
    left = (step(1, "look", {"id": 1}, "a"), step(2, "act", {"id": 1}), step(3, "check", {}))
    right = (step(1, "look", {"id": 1}, "b"), step(2, "check", {}))
    rows = align(left, right)
    assert [(row.left and row.left.number, row.right and row.right.number, row.same) for row in rows] == [
        (1, 1, False), (2, None, False), (3, 2, True),
    ]  # fmt: skip


def test_two_runs_side_by_side_show_faults_detections_votes_and_words() -> None:
    votes = (Vote("done", 1, True), Vote("done", 2, False), Vote("done", 3, True))
    good = trial(verdicts=(Verdict("done", True, "panel", votes),), final="All done.", steps=1)
    bad = msgspec.structs.replace(
        good, outcome="failed", final="", attempt=2, labels=("gave_up_at_first_error",), detections={"invented_rule": 1},
        verdicts=(Verdict("done", False, "panel", votes, overruled="`look` was never called"),),
    )  # fmt: skip
    struck = step(1, "look", {"id": 1}, {"error": "HTTP 500"}, status="faulted", fault=Fault("http_500"))
    odd = step(
        2, "act", None, "x", raw="{broken", status="bad_arguments", detections=(Detection("invented_rule", "t", True),)
    )
    text = side_by_side(Run(good, (step(1, "look", {"id": 1}, {"ok": True}),)), Run(bad, (struck, odd)))
    assert "| outcome | passed | failed |" in text and "| kinds of failure | - | gave_up_at_first_error |" in text
    assert "faulted; fault: http_500" in text and "saw other things" in text
    assert "bad_arguments; simulator: invented_rule (repaired)" in text and "act({broken)" in text
    assert "| done | met (2 of 3 votes) | not met (2 of 3 votes); overruled: \\`look\\` was never called |" in text
    assert "Left: All done." in text and "Right: (none)" in text


def test_two_runs_of_two_tasks_are_not_compared() -> None:
    with pytest.raises(UsageError, match="two runs of one"):
        side_by_side(Run(trial("a"), ()), Run(trial("b"), ()))


CALLS = st.lists(st.tuples(st.sampled_from(["look", "act"]), st.integers(0, 2)), max_size=12)


@given(CALLS, CALLS)
def test_every_call_of_both_runs_is_shown_once_and_in_order(
    left: list[tuple[str, int]], right: list[tuple[str, int]]
) -> None:
    one, two = ([step(at, tool, {"n": n}) for at, (tool, n) in enumerate(calls, 1)] for calls in (left, right))
    rows = align(one, two)
    assert [row.left for row in rows if row.left] == one
    assert [row.right for row in rows if row.right] == two
    assert all(row.left.tool == row.right.tool for row in rows if row.left and row.right)
    assert all(row.same for row in align(one, one))


@given(st.lists(st.tuples(st.text(max_size=20), st.floats(0, 1)), max_size=6), st.text(max_size=30))
def test_any_names_give_tables_and_pictures_that_parse(rows: list[tuple[str, float]], name: str) -> None:
    """Whatever a model or task is called: the CSV has its columns, the Markdown its cells, the SVG is XML."""
    made = Table("x", name, (name, "rate"), tuple((text, Share(value, 0.0, 1.0, 3)) for text, value in rows))
    parsed = list(csv.reader(io.StringIO(as_csv(made))))
    assert len(parsed) == len(rows) + 1
    assert {len(row) for row in parsed[1:]} <= {5}
    lines = markdown(made).split("\n")
    assert len(lines) == len(rows) + 5
    drawing = bars(name, [Point(text, value, 0.0, 1.0, 3) for text, value in rows])
    assert ET.fromstring(svg(drawing).decode()) is not None
