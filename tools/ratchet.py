"""The size ratchet: files and functions stay small, broad excepts say why, and tests keep up with the code.

The limits stand in `pyproject.toml` under `[tool.ratchet]`; they are tightened there, never loosened. What counts as
code and as tests is listed there too; folders of material (`data`) are neither.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_FOR_TOOLS = re.compile(
    r"#\s*(noqa|type:\s*ignore|pragma)\b(:?\s*[A-Z]+\d+(\s*,\s*[A-Z]+\d+)*)?(\[[^\]]*\])?", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_BROAD = frozenset({"Exception", "BaseException"})


@dataclass(frozen=True)
class Limits:
    """What is asked: lines a file, lines a function, and non-blank test lines for one of code."""

    file_lines: int
    function_lines: int
    tests_per_code: float


@dataclass(frozen=True)
class Measured:
    """One file: its lines in all, its non-blank lines, the lengths of its functions, and its faults as sentences."""

    lines: int
    filled: int
    functions: tuple[int, ...]
    faults: tuple[str, ...]


def measure(name: str, source: str, limits: Limits) -> Measured:
    """Measure one file. `name` is how it is called in the faults."""
    lines = source.splitlines()
    tree = ast.parse(source, filename=name)
    faults: list[str] = []
    if len(lines) > limits.file_lines:
        faults.append(f"{name}: {len(lines)} lines; at most {limits.file_lines}. Split it by what it is about.")
    functions = []
    comments = _comments(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            functions.append(length)
            if length > limits.function_lines:
                faults.append(
                    f"{name}:{node.lineno}: `{node.name}` has {length} lines; at most {limits.function_lines}. "
                    "Give its steps names of their own."
                )
        elif isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _has_reason(comments, node.lineno):
            faults.append(
                f"{name}:{node.lineno}: a broad except without its reason. "
                "Catch what can happen, or say in a comment on this line or the one before why anything may."
            )
    return Measured(len(lines), sum(1 for line in lines if line.strip()), tuple(functions), tuple(faults))


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(element) for element in caught.elts)
    return isinstance(caught, ast.Name) and caught.id in _BROAD


def _has_reason(comments: Mapping[int, str], line: int) -> bool:
    """A reason is at least two words beside the marks meant for tools."""
    return any(len(_WORD.findall(_FOR_TOOLS.sub("", comments.get(at, "")))) >= 2 for at in (line, line - 1))


def percentile_95(values: Sequence[int]) -> int:
    """The value that 95 of 100 do not exceed; 0 for no values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)] if ordered else 0


def sources(root: Path, folders: Sequence[str], data: Sequence[str]) -> Iterator[Path]:
    """The Python files under `folders` that are not material, in order of their names."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            relative = path.relative_to(root).as_posix()
            if not any(_matches(relative, pattern) for pattern in data):
                yield path


def _matches(relative: str, pattern: str) -> bool:
    """`a/*/**` means: everything below a folder that lies in `a`."""
    if not pattern.endswith("/**"):
        return fnmatch.fnmatchcase(relative, pattern)
    wanted = pattern.removesuffix("/**").split("/")
    given = relative.split("/")
    return len(given) > len(wanted) and all(map(fnmatch.fnmatchcase, given, wanted))


@dataclass(frozen=True)
class Report:
    """The whole house: a table for people, and the faults."""

    table: str
    faults: tuple[str, ...]


def inspect(root: Path, settings: Mapping[str, object]) -> Report:
    """Measure every file of `root`. `settings` is the `[tool.ratchet]` table; a missing entry is a KeyError."""
    limits = Limits(
        int(str(settings["file_lines"])), int(str(settings["function_lines"])), float(str(settings["tests_per_code"]))
    )
    data = _strings(settings["data"])
    heads = ("files", "lines", "file p95", "longest", "function p95", "longest")
    rows = [_row("", heads)]
    filled: dict[str, int] = {}
    faults: list[str] = []
    for kind in ("code", "tests"):
        found = [
            measure(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"), limits)
            for path in sources(root, _strings(settings[kind]), data)
        ]
        files = [one.lines for one in found]
        functions = [length for one in found for length in one.functions]
        filled[kind] = sum(one.filled for one in found)
        faults.extend(fault for one in found for fault in one.faults)
        lengths = (percentile_95(files), max(files, default=0), percentile_95(functions), max(functions, default=0))
        rows.append(_row(kind, (len(files), filled[kind], *lengths)))
    if filled["code"]:
        ratio = filled["tests"] / filled["code"]
        rows.append(f"tests per code: {ratio:.2f} non-blank lines; at least {limits.tests_per_code:g}, meant to be 1")
        if ratio < limits.tests_per_code:
            wanted = f"tests per code: {ratio:.2f}; at least {limits.tests_per_code:g}."
            faults.append(f"{wanted} Write the tests that are missing.")
    return Report("\n".join(rows), tuple(faults))


def _row(head: str, cells: Sequence[object]) -> str:
    widths = (7, 8, 10, 9, 14, 9)
    return f"{head:8}" + "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"[tool.ratchet] lists folders as an array of strings, not {value!r}")
    return [str(item) for item in value]


def main(root: Path) -> int:
    """Print the table and the faults; return 1 if there are any."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ratchet"]
    report = inspect(root, settings)
    print(report.table)
    for fault in report.faults:
        print(fault)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
