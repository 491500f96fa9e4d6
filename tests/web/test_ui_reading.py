"""What pages show of files and conversations: contents, differences, lineage, folders, what work led to."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.web.book import Book
from orchestrator.web.ui import content, conversation, difference, files, ledto, lineage, work
from orchestrator.web.ui.lineage import graph
from services.documents.cells import Cell
from services.documents.renderer import DocumentRenderer
from services.storage.memory import MemoryBlobs
from simulator.events import WorkSubmitted
from simulator.ports import Blob
from simulator.records import FileRef, Submission
from tests.access.world import World, body, juniper

RENDERER = DocumentRenderer()
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
EVIL = "<script>run()</script>"


class _Shelf:
    """As much of a book as reading a file needs."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.renderer = RENDERER


def workbook(fill: Callable[[Any], None]) -> bytes:
    made = openpyxl.Workbook()
    fill(made)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def shown(data: bytes, media_type: str, name: str) -> content.Inside:
    shelf = _Shelf()
    return content.inside(cast(Book, shelf), shelf.blobs.put(data), media_type, name)


# -- contents ---------------------------------------------------------------------------------------------------------------


def test_a_workbook_is_shown_as_its_sheets_with_values_and_marked_formulas() -> None:
    def fill(made: Any) -> None:
        made.active.title = "Totals"
        made.active.append(["Item", "Amount"])
        made.active.append(["Freight", 12.5])
        made.active["B3"] = "=SUM(B2:B2)"
        made.create_sheet(EVIL[:20].replace("/", "-"))

    found = shown(workbook(fill), SHEET, "a.xlsx")
    grid = found.grids[0]
    assert (grid.name, grid.columns) == ("Totals", ("A", "B"))
    assert grid.rows[:2] == (("1", "Item", "Amount"), ("2", "Freight", "12.5"))
    assert grid.formulas == {(2, 2)}
    assert grid.more == ""
    assert len(found.grids) == 2


def test_a_large_workbook_is_shown_in_part_and_says_so() -> None:
    def fill(made: Any) -> None:
        for row in range(400):
            made.active.append([row * column for column in range(40)])

    grid = shown(workbook(fill), SHEET, "a.xlsx").grids[0]
    assert len(grid.rows) == content.MOST_ROWS
    assert {len(row) for row in grid.rows} == {content.MOST_COLUMNS + 1}
    assert grid.more == "280 more rows and 14 more columns"


def test_a_file_of_40_megabytes_is_not_even_read() -> None:
    """Issue 5: a 40 MB workbook does not freeze the page."""
    book = cast(Book, None)
    found = content.inside(book, Blob("0" * 64, 40_000_000), SHEET, "large.xlsx")
    assert found.grids == ()
    assert "40.0 MB" in found.note
    assert "Download" in found.note
    assert content.whole(book, Blob("0" * 64, 40_000_000), SHEET, "large.xlsx") == ""


def test_a_table_of_values_is_a_grid_even_if_its_rows_are_uneven() -> None:
    grid = shown(b'a,b,c\n"x,1"\n' + b"1,2\n" * 500, "text/csv", "t.csv").grids[0]
    assert grid.columns == ("A", "B", "C")
    assert grid.rows[:3] == (("1", "a", "b", "c"), ("2", "x,1", "", ""), ("3", "1", "2", ""))
    assert grid.more == "more rows"
    assert content.from_csv("").rows == ()


@given(st.text(max_size=300))
def test_any_text_at_all_is_a_grid(text: str) -> None:
    grid = content.from_csv(text)
    assert {len(row) for row in grid.rows} <= {len(grid.columns) + 1}


def test_a_page_is_shown_as_the_text_it_is() -> None:
    """HTML of an office is a text like any other."""
    found = shown(f"# Note {EVIL}".encode(), "text/markdown", "n.md")
    assert (found.text.strip(), found.grids) == (f"# Note {EVIL}", ())
    long = shown(b"x" * 100_000, "text/plain", "n.txt")
    assert len(long.text) == content.MOST_CHARS
    assert "100,00" in long.note


@pytest.mark.parametrize(("count", "said"), [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (40_000_000, "40.0 MB")])
def test_sizes(count: int, said: str) -> None:
    assert content.size(count) == said


# -- differences --------------------------------------------------------------------------------------------------------------


def rendered(cells: dict[str, object], title: str = "S") -> str:
    def fill(made: Any) -> None:
        made.active.title = title
        for place, value in cells.items():
            made.active[place] = value

    return RENDERER.render(workbook(fill), SHEET, "a.xlsx")


def test_two_workbooks_differ_in_the_cells_that_changed_and_in_no_others() -> None:
    before = rendered({"A1": "Item", "B1": 10, "C1": "gone", "D1": 5})
    after = rendered({"A1": "Item", "B1": 12, "D1": "=B1*2", "A9": "new"})
    found = {c.ref: (c.before, c.after) for c in difference.between(before, after, workbook=True).cells}
    assert found == {"B1": ("10", "12"), "C1": ("gone", ""), "D1": ("5", "=B1*2 → (not calculated)"), "A9": ("", "new")}


def test_sheets_that_came_and_went_are_told() -> None:
    found = difference.workbooks(rendered({"A1": 1}, "Old"), rendered({"A1": 1}, "New")).cells
    assert [(c.sheet, c.before, c.after) for c in found] == [
        ("New", "", "a new sheet"), ("Old", "a sheet that is gone", ""), ("New", "", "1"),
    ]  # fmt: skip


def test_what_is_the_same_is_said_to_be_the_same() -> None:
    assert "same" in difference.between("x", "x", workbook=False).note


@given(
    st.dictionaries(st.tuples(st.integers(1, 6), st.integers(1, 4)), st.integers(-50, 50), max_size=12),
    st.dictionaries(st.tuples(st.integers(1, 6), st.integers(1, 4)), st.integers(-50, 50), max_size=12),
)
def test_the_changes_lead_from_the_one_workbook_to_the_other(
    old: dict[tuple[int, int], int], new: dict[tuple[int, int], int]
) -> None:
    def text(cells: dict[tuple[int, int], int]) -> str:
        rows = sorted({row for row, _ in cells})
        lines = [
            " | ".join(f"{'ABCD'[c - 1]}{row}: {cells[row, c]}" for c in range(1, 5) if (row, c) in cells) for row in rows
        ]
        return "\n".join(["# Sheet: S (6 rows x 4 columns)", *lines]) + "\n"

    state = {f"{'ABCD'[c - 1]}{r}": str(v) for (r, c), v in old.items()}
    for change in difference.between(text(old), text(new), workbook=True).cells:
        assert state.get(change.ref, "") == change.before
        state[change.ref] = change.after
    assert {k: v for k, v in state.items() if v} == {f"{'ABCD'[c - 1]}{r}": str(v) for (r, c), v in new.items()}


@given(st.lists(st.sampled_from("abcd"), max_size=20), st.lists(st.sampled_from("abcd"), max_size=20))
def test_removed_and_same_lines_are_the_one_text_and_added_and_same_the_other(old: list[str], new: list[str]) -> None:
    found = difference.texts("\n".join(old), "\n".join(new)).lines
    hidden = [int(line.text.split()[0]) for line in found if line.kind == "gap"]
    assert sum(1 for line in found if line.kind in ("same", "removed")) + sum(hidden) == len(old)
    assert sum(1 for line in found if line.kind in ("same", "added")) + sum(hidden) == len(new)
    assert [line.text for line in found if line.kind == "removed"] == _left_out(old, found, "removed")


def _left_out(lines: list[str], found: tuple[difference.LineChange, ...], kind: str) -> list[str]:
    """Return the lines that a difference says were left out, by walking along the text."""
    place, left = 0, []
    for change in found:
        if change.kind == "gap":
            place += int(change.text.split()[0])
        elif change.kind in ("same", kind):
            assert lines[place] == change.text
            if change.kind == kind:
                left.append(lines[place])
            place += 1
    return left


def test_very_long_texts_are_not_compared_and_very_many_changes_not_all_shown() -> None:
    long = "\n".join(map(str, range(difference.MOST_LINES + 1)))
    assert "download" in difference.texts(long, "x").note
    many = "\n".join(f"line {n}" for n in range(1_000))
    found = difference.texts("", many)
    assert len(found.lines) == difference.MOST_CHANGES
    assert found.note == "700 more lines."


# -- lineage ------------------------------------------------------------------------------------------------------------------


def test_a_version_stands_between_what_it_came_from_and_what_came_of_it() -> None:
    world = juniper()
    papers = world.save("elena", "home:elena", "papers.csv")
    prior = world.save("elena", "home:elena", "prior.xlsx")
    digest = world.save("elena", "home:elena", "digest.xlsx", sources=(papers, prior))
    second = world.again(digest, "better")
    letter = world.save("elena", "home:elena", "letter.md", sources=(second,))
    found = graph(world.office, digest)
    layers = {s.ref: s.layer for s in found.spots}
    assert layers == {papers: -1, prior: -1, digest: 0, second: 1, letter: 2}
    assert set(found.edges) == {(papers, digest), (prior, digest), (digest, second), (second, letter)}
    drawn = lineage.draw(found, lambda ref: f"/office/o/file/{ref.file}?version={ref.version}")
    boxes = [n for n in drawn.nodes if n[0] == "a"]
    assert len(boxes) == 5
    assert all(n[1]["href"].startswith("/office/o/file/") for n in boxes)
    assert len([n for n in drawn.nodes if n[0] == "path"]) == 4


def test_a_wide_lineage_is_cut_and_says_by_how_much() -> None:
    world = juniper()
    source = world.save("elena", "home:elena", "source.csv")
    for n in range(lineage.MOST_A_LAYER + 5):
        world.save("elena", "home:elena", f"child {n}.md", sources=(source,))
    found = graph(world.office, source)
    assert [s.left_out for s in found.spots if s.left_out] == [5]
    assert len([s for s in found.spots if s.layer == 1 and not s.left_out]) == lineage.MOST_A_LAYER
    assert "and 5 more" in [n[2] for n in lineage.draw(found, lambda ref: "/x").nodes]


def test_a_lineage_that_turns_in_a_circle_ends() -> None:
    world = juniper()
    a = world.save("elena", "home:elena", "a.md", sources=())
    b = world.save("elena", "home:elena", "b.md", sources=(a,))
    world.save("elena", "home:elena", "a.md", "again", file=a.file, sources=(b,))
    found = graph(world.office, a)
    assert {s.ref for s in found.spots} == {a, b, FileRef(a.file, 2)}


# -- folders ------------------------------------------------------------------------------------------------------------------


def test_a_tree_shows_the_uppermost_folders_and_those_on_the_way_to_the_open_one() -> None:
    paths = ["home:a/Documents/x/1.md", "home:a/Documents/2.md", "home:b/3.md", "home:b/deep/4.md", "company/5.md"]
    assert [(f.path, f.depth, f.files) for f in files.tree(paths, "", {})] == [("company", 0, 1), ("home:a", 0, 2), ("home:b", 0, 2)]
    opened = files.tree(paths, "home:a/Documents", {"home:a": "Ann's home"})
    assert [(f.path, f.name) for f in opened] == [
        ("company", "company"), ("home:a", "Ann's home"), ("home:a/Documents", "Documents"), ("home:a/Documents/x", "x"),
        ("home:b", "home:b"),
    ]  # fmt: skip


@given(st.lists(st.text("ab/", min_size=1, max_size=12), max_size=20), st.text("ab/", max_size=8))
def test_a_child_always_stands_below_its_parent(paths: list[str], opened: str) -> None:
    found = [f.path for f in files.tree(paths, opened, {})]
    for path in found:
        parent = path.rpartition("/")[0]
        if parent:
            assert parent in found[: found.index(path)]


# -- what work led to -----------------------------------------------------------------------------------------------------------


def grown() -> tuple[World, str, FileRef]:
    world = juniper()
    work_id = world.delegate("elena", "Make the digest")
    result = world.save("elena", "home:elena", "digest.xlsx", author=f"assistant:{work_id}", delegation=work_id)
    world.do(WorkSubmitted(work_id, 1, Submission(world.now, (result,), body("Done."))))
    return world, work_id, result


def test_what_work_led_to_is_told_in_order_and_links_to_where_it_went() -> None:
    world, work_id, result = grown()
    assert ledto.led_to(world.office, world.office.delegations[work_id]) == ()
    world.accept(result, "elena")
    world.share(result, "everyone", "elena")
    world.mail("elena", ["daniel"], "The digest", (result,))
    room = world.room("general", ["elena", "daniel"])
    world.post(room, "elena", "Here it is", (result,))
    child = world.save("daniel", "home:daniel", "letter.md", sources=(result,))
    found = ledto.led_to(world.office, world.office.delegations[work_id])
    assert [(led.kind, led.ref) for led in found] == [
        ("share", result.file), ("mail", next(iter(world.office.mails))), ("message", room), ("file", child.file),
    ]  # fmt: skip
    assert "everybody" in found[0].text
    assert "The digest" in found[1].text


def test_what_others_did_with_other_files_is_not_told() -> None:
    world, work_id, _ = grown()
    other = world.save("daniel", "home:daniel", "other.md")
    world.share(other, "everyone", "daniel")
    world.mail("daniel", ["elena"], "Other", (other,))
    assert ledto.led_to(world.office, world.office.delegations[work_id]) == ()


# -- conversations and cards ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ('{"path": "/mnt/task/TASK.md"}', "path: /mnt/task/TASK.md"),
        ('{"command": "ls\\ncat x", "n": 3}', "command:\nls\ncat x\nn: 3"),
        ('{"ok": true, "files": ["a"]}', 'ok: true\nfiles:\n[\n "a"\n]'),
        ("not json <b>", "not json <b>"),
        ("[1, 2]", "[1, 2]"),
        ('{"cut": "sho', '{"cut": "sho'),
        ("", ""),
    ],
)
def test_what_tools_take_and_give_is_written_for_people(given_: str, said: str) -> None:
    assert conversation.plain(given_) == said


@given(st.text(max_size=200))
def test_any_text_of_a_tool_can_be_shown(text: str) -> None:
    assert isinstance(conversation.plain(text), str)
    assert isinstance(conversation.plain("[" * 5_000), str)


def test_numbers_are_said_exactly() -> None:
    assert content.said(Cell(1, 1, Decimal("1234.50"))) == "1234.5"
    assert content.said(Cell(1, 1, True)) == "TRUE"
    assert content.said(Cell(1, 1, None, "A1")) == "(not calculated)"


def test_the_columns_of_the_board_hold_every_state_once() -> None:
    states = [s for _, _, some in work._COLUMNS for s in some]
    requests = {f"request:{s}" for s in ("open", "accepted", "declined", "fulfilled", "withdrawn")}
    given_ = {f"delegation:{s}" for s in ("working", "asking", "submitted", "accepted", "withdrawn", "stopped")}
    assert sorted(states) == sorted(requests | given_)
