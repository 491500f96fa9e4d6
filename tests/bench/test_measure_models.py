"""The benchmark of the model client measures what it says: three clients, one request, one server."""

from __future__ import annotations

from bench.measure_models import clients, overhead


def test_this_client_costs_less_cpu_a_call_than_the_package_it_is_built_on() -> None:
    size, costs = clients(rounds=60)
    assert 30_000 < size < 36_000
    assert 0 < costs["this client"] < costs["bare openai"]
    assert costs["bare httpx"] > 0


def test_it_is_told_in_one_line() -> None:
    said: list[str] = []
    overhead(said.append)
    assert len(said) == 1 and "bare openai" in said[0] and "33 KB" in said[0]
