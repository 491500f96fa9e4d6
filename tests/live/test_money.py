"""A budget below the cost: the provider's own sum never exceeds it, though six people work at once and answers get lost."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from services.models.delayed import Delayed, heavy_tail
from services.offline import OfflineProfessional
from tests.live.house import Clock, Live, environ_for
from tests.live.provider import SPOILED, Faults, Provider, provide
from tests.orchestrator.support import JUNIPER, Desk

SEED = int(os.environ.get("OFFICETOWN_TEST_SEED", "0")) or random.SystemRandom().randrange(10**6)
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("package", "days", "stages"),
    [
        pytest.param("", 3, 2, id="3 days of four people"),
        pytest.param(JUNIPER, 10, 5, id="10 days of twelve people", marks=pytest.mark.slow),
    ],
)
def test_the_providers_own_sum_never_exceeds_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], firm: str, package: str, days: int, stages: int
) -> None:
    """DESIGN 10: each stop is at a commit with exit 3, and more money goes on to the same end."""
    calm = Provider()
    with provide(calm, Faults(SEED, 0)) as served:
        desk = Desk(tmp_path / "calm", capsys, environ_for(tmp_path / "calm", served.url))
        whole = desk.json(
            "run", package or firm, "--days", str(days), "--seed", "1", make=lambda: Live(desk.environ, Clock())
        )
    provider = Provider(
        inner=Delayed(OfflineProfessional(), heavy_tail(SEED, 0.05 if package else 0.01, cap_s=0.3), time.sleep)
    )
    faults = Faults(SEED, 60, SPOILED)
    with provide(provider, faults) as served:
        tight = Desk(tmp_path / "tight", capsys, environ_for(tmp_path / "tight", served.url))
        reference, revision, shares = package or firm, 0, []
        for stage in range(1, stages + 1):
            limit = calm.money * stage // (stages + 1)
            stopped = tight(
                "run", reference, "--days", str(days), *(["--seed", "1"] if stage == 1 else []), "--concurrency", "6",
                "--budget", f"{limit / 1e6:.6f}", "--json", make=lambda: Live(tight.environ, Clock()),
            )  # fmt: skip
            assert stopped.code == 3, stopped.err
            assert provider.money <= stopped.result["cost"]["micros"] <= limit
            assert stopped.result["revision"] >= revision
            reference, revision = stopped.result["office"], stopped.result["revision"]
            shares.append(f"{100 * provider.money / limit:.0f} %")
        went_on = tight.json(
            "run", reference, "--days", str(days), "--budget", "100000", make=lambda: Live(tight.environ, Clock())
        )
    print(
        f"seed {SEED}: budgets used to {', '.join(shares)} by the provider's account; {provider.most_at_once} calls at "
        f"once at most; faults {dict(faults.played)}"
    )
    assert went_on["hash"] == whole["hash"]
    assert provider.money <= went_on["cost"]["micros"]
    assert not package or provider.most_at_once >= 6
