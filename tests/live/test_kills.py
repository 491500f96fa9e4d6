"""SIGKILL at random moments: no stored answer is asked for again, and the ledger is never below the provider's count.

OFFICETOWN_TEST_KILLS says how many kills (60 by default), OFFICETOWN_TEST_SEED which.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.cli import execute
from orchestrator.compose import House
from orchestrator.log_hash import log_hash
from orchestrator.settings import read_settings
from services.models.delayed import Delayed, heavy_tail
from services.offline import OfflineProfessional
from services.storage.reader import JournalReader
from simulator.errors import UnknownReference
from tests.live.house import Clock, Live, environ_for, work
from tests.live.provider import SPOILED, Call, Faults, Provider, provide

KILLS = int(os.environ.get("OFFICETOWN_TEST_KILLS", "60"))
SEED = int(os.environ.get("OFFICETOWN_TEST_SEED", "0")) or random.SystemRandom().randrange(10**6)
DAYS = 12
LONGEST_S = 0.5
_SPOILS = ("connection dropped in the answer", "connection dropped in the answer", "500", "429, retry at once")


def charged_by_call(reader: JournalReader) -> Counter[Call]:
    """Return what the ledger charges, by call."""
    return Counter({(line.activation, line.ordinal): line.charged_micros for line in reader.ledger()})


class Killing:
    """An office after the other in children that are killed, until so many kills have hit."""

    def __init__(self, home: Path, firm: str) -> None:
        # Some answers take their time, so that kills find calls in flight.
        self.provider = Provider(inner=Delayed(OfflineProfessional(), heavy_tail(SEED, 0.004, cap_s=0.2), time.sleep))
        self.faults = Faults(SEED, 150, _SPOILS)
        self.served = provide(self.provider, self.faults)
        self.environ = environ_for(home, self.served.url)
        self.firm = firm
        self.draw = random.Random(SEED)
        self.hit = self.at_work = self.in_flight = 0
        self.finished: list[str] = []
        self.repeated: list[Call] = []
        self.house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.live.house"])

    @property
    def name(self) -> str:
        """The name of the office at work."""
        return f"Office {len(self.finished)}"

    def run(self, kills: int) -> None:
        """Kill so many times, and let the last office finish."""
        self.provider.begin_account()
        while self.hit < kills:
            self._child(self.draw.uniform(0.0, LONGEST_S))
        while self.provider.answers:
            self._child(None)

    def _child(self, after: float | None) -> None:
        """Run one child, kill it so many seconds after its first request, and hold the account against the ledger.

        Every fifth kill counts from the start of the process instead.
        """
        reader = self._reader()
        words = self.name if reader is not None else self.firm
        command = ["run", words, "--days", str(DAYS)]
        if reader is None:
            command += ["--name", self.name, "--seed", "3"]
        answers = self.provider.answers
        child = self._context.Process(target=work, args=(self.environ, command))
        asked = self.provider.asked
        child.start()
        if after is not None and self.hit % 5:
            self.provider.await_request(asked, child.is_alive)
        child.join(after)
        child.kill()
        child.join()
        self.provider.idle()
        self.hit += child.exitcode == -9
        self.at_work += child.exitcode == -9 and self.provider.answers > answers
        assert child.exitcode in (0, -9)
        reader = self._reader()
        if reader is not None:
            self._compare(reader, child.exitcode == 0)
        if child.exitcode == 0:
            self.finished.append(self.house.row(self.name).id)
            self.provider.begin_account()

    def _reader(self) -> JournalReader | None:
        try:
            return self.house.offices.read(self.house.row(self.name).id)
        except UnknownReference:
            return None

    def _compare(self, reader: JournalReader, ended: bool) -> None:
        charged, billed = charged_by_call(reader), self.provider.billed
        short = {call: (charged[call], billed[call]) for call in billed if charged[call] < billed[call]}
        assert not short, f"seed {SEED}: charged less than the provider counts: {short}"
        assert reader.charged_micros() == charged.total() >= self.provider.money
        lines = tuple(reader.ledger())
        self.in_flight += sum(line.state == "begun" for line in lines)
        # A call beforehand that a kill cut off is never asked again: it stays charged at its worst case.
        begun = [line.activation for line in lines if line.state == "begun" and not line.activation.startswith("check.")]
        assert not (ended and begun)
        self.repeated += self.provider.repeated
        self.provider.repeated = []
        self.provider.stored = frozenset((x.activation, x.ordinal) for x in lines if x.state == "answered")

    def tell(self) -> None:
        """Say what was done."""
        print(
            f"seed {SEED}: {self.hit} kills, {self.at_work} of them at work; {len(self.finished)} offices finished; "
            f"{self.in_flight} calls found in flight; {self.faults.requests} requests, faults {dict(self.faults.played)}"
        )

    def close(self) -> None:
        """Let go of everything."""
        self.served.close()
        self.house.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_random_an_office_pays_for_no_stored_answer_again_and_owns_up_to_every_cost(
    tmp_path: Path, firm: str
) -> None:
    """RULE 2, over HTTP and with faults that are billed: the ledger is held against the provider's account, by call."""
    whole = {"OFFICETOWN_HOME": str(tmp_path / "whole")}
    assert execute(["run", firm, "--days", str(DAYS), "--seed", "3"], lambda: House(read_settings(whole))) == 0
    killing = Killing(tmp_path / "home", firm)
    try:
        killing.run(KILLS)
        killing.tell()
        assert killing.repeated == []
        assert killing.at_work >= KILLS // 3, "kills must come while there is work to disturb"
        assert killing.in_flight >= KILLS // 10
        hashes = {log_hash(killing.house.offices.read(office)) for office in killing.finished}
        expected = House(read_settings(whole))
        assert hashes == {log_hash(expected.offices.read(expected.offices.list()[0].id))}
        expected.close()
    finally:
        killing.close()


def test_what_failed_attempts_were_billed_is_in_the_ledger_while_the_call_is_still_in_flight(
    tmp_path: Path, firm: str
) -> None:
    """RULE 2: were the process killed at any moment of a call's third attempt, the first two would be charged too."""
    environ = environ_for(tmp_path, "http://127.0.0.1:9/v1")
    house = House(read_settings(environ))
    short: list[str] = []

    def look(call: Call) -> None:
        office = house.offices.list()[0]
        charged = charged_by_call(house.offices.read(office.id))[call]
        if charged < provider.billed[call]:
            short.append(f"{call}: {charged} charged, {provider.billed[call]} billed")

    provider = Provider(on_billed=look)
    faults = Faults(SEED, 0, SPOILED[:1], at_first=2)
    with provide(provider, faults) as served:
        environ["OFFICETOWN_MODEL_URL"] = served.url
        arguments = ["run", firm, "--days", "1", "--seed", "3", "--no-check"]
        assert execute(arguments, lambda: Live(environ, Clock())) == 0
    house.close()
    print(f"seed {SEED}: {faults.requests} requests, {faults.played.total()} answers dropped on the way")
    assert faults.played.total() == 2 * len(provider.billed) > 0
    assert short == []
