"""Takes every check of rights out of the simulator, one at a time, and says which one no test misses.

Run as a program of its own, because it loads the simulator with each check replaced by a gate that can be held open:

- `can(...)` anywhere answers "allowed",
- `publish_refusals(...)` and `telling_refusals(...)` find nothing to say,
- `ctx.allow(...)` in an act refuses nothing,
- `deny(...)` within the rules themselves allows, and no reason against publishing is given there.

New files and new calls are found by themselves. Scenarios are the plain tests (no fixture, no Hypothesis) of the areas
in `AREAS`. Prints one JSON object of lists: `sites`, `survivors`, `unreached` (as `file:line: source`), `broken`.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
AREAS = ("access", "mounts", "acts", "tools", "briefing")
Scenario = Callable[[], object]


class Gates:
    """All checks found so far, which of them were passed through, and the one that is held open."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.touched: set[int] = set()
        self.open = -1

    def add(self, place: str) -> int:
        self.places.append(place)
        return len(self.places) - 1

    def passed(self, number: int, kind: str, check: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Stands where the check stood."""
        self.touched.add(number)
        if number != self.open:
            return check(*args, **named)
        if kind == "allow":
            return None
        if kind in ("publish_refusals", "telling_refusals", "reason"):
            return ()
        from simulator.access_base import Decision

        return Decision(True, "held open")


class Rewriter(ast.NodeTransformer):
    """Puts a gate in place of every check of one file."""

    def __init__(self, gates: Gates, path: Path) -> None:
        self.gates = gates
        self.path = path
        self.lines = path.read_text().splitlines()
        name = path.name
        self.kinds = {"can", "publish_refusals", "telling_refusals"}
        if name.startswith("access"):
            self.kinds = {"deny", "publish_refusals"}

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802  (the name that NodeTransformer looks for)
        self.generic_visit(node)
        kind = ""
        if isinstance(node.func, ast.Name) and node.func.id in self.kinds:
            kind = node.func.id
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "allow":
            kind = "allow"
        if not kind:
            return node
        return self._gate(node, kind, node.func, *node.args, keywords=node.keywords)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:  # noqa: N802  (as above)
        self.generic_visit(node)
        if not isinstance(node.value, ast.Yield) or self.path.name != "access_publish.py":
            return node
        # `yield reason` becomes `if gate(bool, True): yield reason`.
        asked = self._gate(node, "reason", ast.Name("bool", ast.Load()), ast.Constant(True))
        return ast.copy_location(ast.If(asked, [node], []), node)

    def _gate(
        self, node: ast.expr | ast.stmt, kind: str, *args: ast.expr, keywords: Sequence[ast.keyword] = ()
    ) -> ast.expr:
        line = self.lines[node.lineno - 1].strip()
        number = self.gates.add(f"{self.path.relative_to(ROOT)}:{node.lineno}: {line}")
        given: list[ast.expr] = [ast.Constant(number), ast.Constant(kind), *args]
        return ast.copy_location(ast.Call(ast.Name("__gate__", ast.Load()), given, list(keywords)), node)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a file of the simulator with its checks replaced."""

    gates: Gates

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        tree = Rewriter(self.gates, path).visit(ast.parse(path.read_text()))
        return compile(ast.fix_missing_locations(tree), str(path), "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Comes before the usual finders, for the simulator alone."""

    def __init__(self, gates: Gates) -> None:
        self.loader = type("GatedLoader", (Loader,), {"gates": gates})

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "simulator":
            return None
        base = ROOT.joinpath(*name.split("."))
        for file, places in ((base / "__init__.py", [str(base)]), (base.with_suffix(".py"), None)):
            if file.is_file():
                return importlib.util.spec_from_file_location(
                    name, file, loader=self.loader(name, str(file)), submodule_search_locations=places
                )
        return None


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """Yield every plain test of the areas, parametrized ones once for each row."""
    for area in AREAS:
        for file in sorted((ROOT / "tests" / area).glob("test_*.py")):
            if file.stem == "test_every_check_matters":
                continue
            module = importlib.import_module(f"tests.{area}.{file.stem}")
            for name, function in sorted(vars(module).items()):
                if name.startswith("test_") and callable(function) and not hasattr(function, "hypothesis"):
                    for row in _rows(function):
                        yield f"{file.stem}.{name}", lambda f=function, r=row: f(**r)  # type: ignore[misc]


def _rows(function: Callable[..., object]) -> list[dict[str, Any]]:
    """The arguments of a test, from its parametrize marks; no row at all when it wants fixtures."""
    tables: list[list[dict[str, Any]]] = []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names = mark.args[0]
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
        tables.append([dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in mark.args[1]])
    rows = [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*tables)]
    return rows if set(inspect.signature(function).parameters) == set(rows[0] if rows else ()) else []


def fails(scenario: Scenario) -> bool:
    """Whether a scenario fails in any way: a wrong result and a crash both give the missing check away."""
    try:
        scenario()
    except Exception:  # noqa: BLE001  (whatever a test raises is the answer)
        return True
    # pytest's own outcomes (`pytest.fail`, DID NOT RAISE) do not derive from Exception.
    except BaseException as fault:
        if isinstance(fault, KeyboardInterrupt | SystemExit):
            raise
        return True
    return False


def main() -> None:
    """Find the checks, run all scenarios once as they are, then once more with each check held open."""
    sys.path.insert(0, str(ROOT))
    gates = Gates()
    builtins.__gate__ = gates.passed  # type: ignore[attr-defined]
    sys.meta_path.insert(0, Finder(gates))
    for file in sorted((ROOT / "simulator").rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    reached: dict[int, list[Scenario]] = {number: [] for number in range(len(gates.places))}
    broken = []
    for name, scenario in scenarios():
        gates.touched = set()
        if fails(scenario):
            broken.append(name)
        for number in gates.touched:
            reached[number].append(scenario)
    survivors = []
    for number, able in reached.items():
        gates.open = number
        if able and not any(fails(scenario) for scenario in able):
            survivors.append(gates.places[number])
    unreached = [gates.places[number] for number, able in reached.items() if not able]
    print(json.dumps({"sites": gates.places, "survivors": survivors, "unreached": unreached, "broken": broken}))


if __name__ == "__main__":
    main()
