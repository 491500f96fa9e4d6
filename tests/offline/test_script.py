"""Scripts: replayed at every request, side by side, and never confused by what was answered before."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from services.offline.script import Answer, Ask, Call, Script, Told, advance, ask, call, parting, refused, together


def two_steps(name: str, heard: list[Answer]) -> Script:
    heard += yield ask(call("first", of=name))
    heard += yield ask(call("second", of=name), call("third", of=name))


def play(make: list[str]) -> tuple[list[tuple[str, ...]], list[list[Answer]]]:
    """Run scripts as the engine would: at every turn anew, with all the answers so far."""
    told_before: list[tuple[Call, Answer]] = []
    turns: list[tuple[str, ...]] = []
    while True:
        heard: list[list[Answer]] = [[] for _ in make]
        told = Told()
        for made, answer in told_before:
            told.add(made, answer)
        wanted = advance(together(two_steps(name, mine) for name, mine in zip(make, heard, strict=True)), told)
        if wanted is None:
            return turns, heard
        turns.append(tuple(c.name for c in wanted.calls))
        told_before += [(made, {"ok": True, "said": f"{made.name} {made.arguments['of']}"}) for made in wanted.calls]


def test_a_script_is_run_again_from_what_was_answered() -> None:
    turns, heard = play(["a"])
    assert turns == [("first",), ("second", "third")]
    assert [answer["said"] for answer in heard[0]] == ["first a", "second a", "third a"]


@given(st.lists(st.sampled_from("abc"), max_size=5))
def test_side_by_side_each_script_hears_its_own_answers(names: list[str]) -> None:
    turns, heard = play(names)
    assert len(turns) == (2 if names else 0), "many scripts take no more turns than one"
    assert [[a["said"] for a in mine] for mine in heard] == [[f"first {n}", f"second {n}", f"third {n}"] for n in names]


def test_equal_calls_are_answered_once_each() -> None:
    told = Told()
    told.add(call("list", of="x"), {"n": 1})
    told.add(call("list", of="x"), {"n": 2})
    found = [told.take(call("list", of="x")) for _ in range(3)]
    assert found == [{"n": 1}, {"n": 2}, None]


def test_what_is_made_goes_before_what_is_opened_rule_27() -> None:
    def reads() -> Script:
        yield ask(call("open_file", file="a"))

    def saves(heard: list[Answer]) -> Script:
        heard += yield ask(call("list_files"), call("save", path="b"))

    heard: list[Answer] = []
    running = together([reads(), saves(heard)])
    wanted = next(running)
    assert [c.name for c in wanted.calls] == ["save", "open_file", "list_files"]
    with contextlib.suppress(StopIteration):
        running.send([{"of": c.name} for c in wanted.calls])
    assert [a["of"] for a in heard] == ["list_files", "save"], "each script hears answers in its own order"


def test_only_where_all_scripts_part_is_it_the_end() -> None:
    def goes() -> Script:
        yield parting(call("note"))

    def stays() -> Script:
        yield ask(call("open_file"))

    assert next(together([goes(), goes()])) == Ask((call("note"), call("note")), last=True)
    assert not next(together([goes(), stays()])).last


def test_a_script_without_calls_is_over_and_refusals_are_heard() -> None:
    def nothing() -> Script:
        yield parting()

    assert advance(nothing(), Told()) is None
    assert advance(together([nothing()]), Told()) is None
    assert refused([{"ok": True}, {"ok": False, "error": "no"}, {}]) == ["no", ""]
    assert call("x", a=None, b=1) == Call("x", {"b": 1})
