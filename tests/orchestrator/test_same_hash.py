"""A run is a function of engine, package, seed and tape (DESIGN 1, RULE 1): whatever else differs, the log is one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from services.models.delayed import Delayed, heavy_tail
from services.models.http_server import serve
from services.offline import OfflineProfessional
from simulator.ports import Model
from tests.orchestrator.support import JUNIPER, child

LENGTHS = [
    pytest.param(2, id="2 days"),
    pytest.param(20, id="20 days", marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
]
_HASHES: dict[int, str] = {}


def ran(
    home: Path, days: int, *, environ: dict[str, str] | None = None, model: Model | None = None, **options: int
) -> str:
    """Run Juniper in a home of its own; return the log's hash."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home), **(environ or {})}), model=model)
    try:
        return str(run(house, Out(quiet=True), JUNIPER, RunOptions(days=days, seed=1, **options))["hash"])  # type: ignore[arg-type]
    finally:
        house.close()


@pytest.fixture(params=LENGTHS)
def days(request: pytest.FixtureRequest) -> int:
    """How long the office runs."""
    return int(request.param)


@pytest.fixture
def one_at_a_time(days: int, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash with one person and one assistant at work at once."""
    if days not in _HASHES:
        _HASHES[days] = ran(tmp_path_factory.mktemp("plain"), days, concurrency=1, workers=1)
    return _HASHES[days]


@pytest.mark.parametrize(("concurrency", "workers"), [(6, 4), pytest.param(16, 1, marks=pytest.mark.slow)])
def test_however_many_work_at_once(
    days: int, one_at_a_time: str, tmp_path: Path, concurrency: int, workers: int
) -> None:
    assert ran(tmp_path, days, concurrency=concurrency, workers=workers) == one_at_a_time


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_however_long_each_answer_takes(days: int, one_at_a_time: str, tmp_path: Path, seed: int) -> None:
    """Heavy-tailed latency: some answers come two hundred times as late as most."""
    never = threading.Event()

    def wait(seconds: float) -> None:
        never.wait(seconds)

    slow = Delayed(OfflineProfessional(), heavy_tail(seed, 0.001, 1.1, 0.2), wait)
    assert ran(tmp_path, days, model=slow) == one_at_a_time


@pytest.fixture(params=["chat", "responses"])
def served(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The offline professional behind HTTP, and the variables that name it."""
    with serve(OfflineProfessional()) as server:
        yield {
            "OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "officetown", "OFFICETOWN_MODEL_WIRE": str(request.param),
        }  # fmt: skip


def test_with_the_offline_professional_behind_http(
    days: int, one_at_a_time: str, tmp_path: Path, served: dict[str, str]
) -> None:
    assert ran(tmp_path, days, environ=served) == one_at_a_time


@pytest.mark.postgres
def test_on_postgresql(days: int, one_at_a_time: str, tmp_path: Path, postgres_url: str) -> None:
    assert ran(tmp_path, days, environ={"DATABASE_URL": postgres_url}) == one_at_a_time


def test_whatever_the_order_of_sets_and_the_zone_of_the_machine(days: int, one_at_a_time: str, tmp_path: Path) -> None:
    """RULE 37: no set's order shows, and the system's clock and zones are not asked."""
    for number, zone in ((0, "Asia/Tokyo"), (4242, "America/St_Johns")):
        environ = {"PYTHONHASHSEED": str(number), "TZ": zone, "LC_ALL": "C"}
        said = child(
            tmp_path / str(number), "run", JUNIPER, "--days", str(days), "--seed", "1", "--json", environ=environ
        )
        assert said.code == 0, said.err
        assert said.result["hash"] == one_at_a_time


def test_in_one_go_or_day_by_day(days: int, one_at_a_time: str, tmp_path: Path) -> None:
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path)}))
    office = str(run(house, Out(quiet=True), JUNIPER, RunOptions(days=1, seed=1))["office"])
    hashes = [
        run(house, Out(quiet=True), office, RunOptions(days=day, concurrency=day))["hash"] for day in range(2, days + 1)
    ]
    house.close()
    assert hashes[-1] == one_at_a_time


def test_another_seed_is_another_history(tmp_path: Path) -> None:
    """The seed is part of the function: were it ignored, everything above would hold for nothing."""
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path)}))
    one, two = (run(house, Out(quiet=True), JUNIPER, RunOptions(days=1, seed=seed))["hash"] for seed in (1, 2))
    house.close()
    assert one != two
