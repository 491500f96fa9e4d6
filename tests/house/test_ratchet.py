"""The size ratchet finds what it is for, and nothing else."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import ratchet

LIMITS = ratchet.Limits(file_lines=20, function_lines=5, tests_per_code=1.0)
SETTINGS: dict[str, object] = {
    "file_lines": 20,
    "function_lines": 5,
    "tests_per_code": 1.0,
    "code": ["code"],
    "tests": ["tests"],
    "data": ["code/*/scripts/**"],
}


def _faults(source: str) -> tuple[str, ...]:
    return ratchet.measure("a.py", textwrap.dedent(source), LIMITS).faults


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_file_at_the_limit_passes_and_one_line_more_fails() -> None:
    assert _faults("x = 1\n" * 20) == ()
    (fault,) = _faults("x = 1\n" * 21)
    assert fault.startswith("a.py: 21 lines; at most 20.")


def test_a_function_at_the_limit_passes_and_one_line_more_fails() -> None:
    assert _faults("def f():\n" + "    x = 1\n" * 4) == ()
    (fault,) = _faults("def f():\n" + "    x = 1\n" * 5)
    assert fault.startswith("a.py:1: `f` has 6 lines; at most 5.")


def test_methods_and_coroutines_count_as_functions() -> None:
    source = "class A:\n    async def g(self):\n" + "        x = 1\n" * 6
    (fault,) = _faults(source)
    assert "`g` has 7 lines" in fault


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:",
        "except BaseException:",
        "except:",
        "except (ValueError, Exception) as error:",
        "except Exception:  # noqa: BLE001",
        "except Exception:  # noqa: BLE001, S110",
        "except Exception:  # why",
    ],
)
def test_a_broad_except_without_a_reason_fails(handler: str) -> None:
    (fault,) = _faults(f"try:\n    x = 1\n{handler}\n    pass\n")
    assert fault.startswith("a.py:3: a broad except without its reason.")


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:  # a grader's crash is an error, never a score",
        "except Exception:  # noqa: BLE001 - a plugin may raise anything",
        "# whatever the plugin raises is shown to its author\nexcept Exception:",
        "except ValueError:",
        "except (ValueError, OSError):",
        "except errors.Exception_:",
    ],
)
def test_a_broad_except_with_its_reason_and_a_narrow_one_pass(handler: str) -> None:
    assert _faults(f"try:\n    x = 1\n{handler}\n    pass\n") == ()


def test_a_hash_in_a_string_is_no_reason() -> None:
    (fault,) = _faults("try:\n    x = '# not a reason at all'\nexcept Exception:\n    pass\n")
    assert "broad except" in fault


def test_tests_that_fall_behind_the_code_fail(tmp_path: Path) -> None:
    _write(tmp_path, {"code/a.py": "x = 1\n\n\ny = 2\n", "tests/test_a.py": "z = 3\n"})
    report = ratchet.inspect(tmp_path, SETTINGS)
    assert report.faults == ("tests per code: 0.50; at least 1. Write the tests that are missing.",)
    _write(tmp_path, {"tests/test_b.py": "z = 3\n"})
    assert ratchet.inspect(tmp_path, SETTINGS).faults == ()


def test_material_is_neither_code_nor_test(tmp_path: Path) -> None:
    long = "x = 1\n" * 50
    _write(tmp_path, {"code/pack/scripts/deep/big.py": long, "tests/test_a.py": "z = 3\n"})
    assert ratchet.inspect(tmp_path, SETTINGS).faults == ()
    _write(tmp_path, {"code/pack/big.py": long})
    assert [fault.partition(":")[0] for fault in ratchet.inspect(tmp_path, SETTINGS).faults] == [
        "code/pack/big.py",
        "tests per code",
    ]


def test_the_table_shows_what_was_measured(tmp_path: Path) -> None:
    _write(tmp_path, {"code/a.py": "def f():\n    return 1\n", "tests/test_a.py": "x = 1\ny = 2\n"})
    lines = ratchet.inspect(tmp_path, SETTINGS).table.splitlines()
    assert lines[1].split() == ["code", "1", "2", "2", "2", "2", "2"]
    assert lines[2].split() == ["tests", "1", "2", "2", "2", "0", "0"]
    assert lines[3].startswith("tests per code: 1.00")


def test_main_says_yes_or_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = "file_lines=2\nfunction_lines=5\ntests_per_code=0\n"
    table = f'[tool.ratchet]\n{limits}code=["code"]\ntests=["tests"]\ndata=[]\n'
    _write(tmp_path, {"pyproject.toml": table, "code/a.py": "x = 1\n"})
    assert ratchet.main(tmp_path) == 0
    _write(tmp_path, {"code/a.py": "x = 1\n" * 3})
    assert ratchet.main(tmp_path) == 1
    assert "code/a.py: 3 lines; at most 2." in capsys.readouterr().out


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="array of strings"):
        ratchet.inspect(tmp_path, {**SETTINGS, "code": "code"})


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200))
def test_the_percentile_is_a_value_that_at_most_one_in_twenty_exceed(values: list[int]) -> None:
    p95 = ratchet.percentile_95(values)
    assert p95 in values
    assert sum(value > p95 for value in values) * 20 <= len(values)
    assert sum(value >= p95 for value in values) * 20 > len(values) or p95 == min(values)


def test_no_values_have_percentile_zero() -> None:
    assert ratchet.percentile_95([]) == 0


def test_the_house_records_limits_no_looser_than_the_design() -> None:
    """DESIGN section 14: files of 600 lines at most, functions of 80."""
    root = Path(__file__).parents[2]
    recorded = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["ratchet"]
    assert recorded["file_lines"] <= 600
    assert recorded["function_lines"] <= 80
    assert recorded["tests_per_code"] >= 0.8
    assert {"simulator", "services", "bench", "training", "orchestrator"} <= set(recorded["code"])
