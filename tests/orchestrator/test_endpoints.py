"""Several models in one office, each tried before anything starts: who is asked what, and what a wrong one is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orchestrator.connecting import OFFICE, Line, check, connect, lines
from orchestrator.pacing import PacedGate
from orchestrator.settings import ModelSettings
from services.models.connect import Surroundings
from services.models.endpoint import Prices
from services.models.http_server import serve
from services.models.ledger import Budget
from services.offline import OfflineProfessional
from services.storage.memory import MemoryJournal
from simulator.conversation import Message, ModelRequest, ModelResponse, Role, ToolCall, Usage
from simulator.errors import BudgetExhausted, InfrastructureError, ModelOutage, UsageError
from tests.orchestrator.support import JUNIPER, Desk

PRICES = Prices(2_000_000, 10_000_000)
KEY = "sk-very-secret"


class Able:
    """A model that does what it is tried out with, and counts who asks."""

    def __init__(self, name: str = "able") -> None:
        self.name = name
        self.asked: Counter[str] = Counter()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer, call, or shape."""
        self.asked[request.messages[0].content[:20]] += 1
        used = Usage(10, output=2)
        if request.tools:
            call = ToolCall("c", "echo", '{"word": "ready"}')
            return ModelResponse(tool_calls=(call,), finish="tool_calls", usage=used, model=self.name)
        return ModelResponse(content='{"ready": true}' if request.schema else "ready", usage=used, model=self.name)


class Raw:
    """A server that gives every request one answer; `seen` are the paths, `bodies` what was sent."""

    def __init__(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.seen: list[str] = []
        self.bodies: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802 - the library's name
                outer.seen.append(self.path)
                outer.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Raw:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def error(message: str, code: str = "") -> bytes:
    """An error as OpenAI's endpoint words it."""
    return msgspec.json.encode({"error": {"message": message, "code": code, "type": "x"}})


def around(waited: list[float] | None = None, now: Callable[[], float] = lambda: 0.0) -> Surroundings:
    """Clocks that stand still; `waited` collects what was slept."""
    return Surroundings(lambda: 1.0, now, (waited if waited is not None else []).append, lambda: 0.0)


def request(role: Role, activation: str = "a.1") -> ModelRequest:
    """A request."""
    return ModelRequest(role, (activation, 0), "s", (Message("user", "hello"),), max_output=16)


@pytest.fixture
def made() -> Iterator[ExitStack]:
    """What closes the connections."""
    with ExitStack() as stack:
        yield stack


# -- roles ------------------------------------------------------------------------------------------------------------


def test_each_role_is_answered_by_its_own_model_and_costs_what_that_costs(made: ExitStack) -> None:
    with serve(Able("large")) as large, serve(Able("small")) as small:
        big = ModelSettings(large.url, "large", prices=PRICES)
        little = ModelSettings(small.url, "small", prices=Prices(1_000_000, 1_000_000))
        found = connect(
            {"principal": big, "client": big, "assistant": little, "judge": ModelSettings()}, around(), made
        )
        answers = {role: found.model.complete(request(role)) for role in ("principal", "client", "assistant")}
    assert {role: (a.model, a.cost_micros) for role, a in answers.items()} == {
        "principal": ("large", 40), "client": ("large", 40), "assistant": ("small", 12),
    }  # fmt: skip
    assert found.worst_case(request("principal")) > found.worst_case(request("assistant")) > 0
    assert found.worst_case(request("judge")) == 0
    with pytest.raises(UsageError, match="world"):
        found.model.complete(request("world"))


def test_roles_with_the_same_settings_share_one_line_and_a_difference_makes_another() -> None:
    one = ModelSettings("http://x/v1", "m")
    found = lines(
        {
            "principal": one,
            "client": ModelSettings("http://x/v1", "m"),
            "assistant": msgspec.structs.replace(one, effort="low"),
        }
    )
    assert [line.roles for line in found] == [("principal", "client"), ("assistant",)]
    assert lines({"principal": ModelSettings()}) == []


def test_one_budget_bounds_all_roles_together(made: ExitStack) -> None:
    with serve(Able()) as server:
        settings = ModelSettings(server.url, "m", prices=PRICES)
        other = msgspec.structs.replace(settings, effort="low")
        probe = connect({"principal": settings}, around(), made)
        worst = probe.worst_case(request("principal"))
        budget = Budget(worst + 39)
        found = connect({"principal": settings, "assistant": other}, around(), made, budget)
        assert found.model.complete(request("principal")).cost_micros == 40
        with pytest.raises(BudgetExhausted):
            found.model.complete(request("assistant"))
    assert budget.spent == 40


def test_an_office_is_played_by_two_models_and_an_offline_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Deliver 1: the file alone decides; the record names who played whom; every call is in the ledger."""

    class Counting:
        def __init__(self) -> None:
            self.calls = 0
            self._model, self._lock = OfflineProfessional(), threading.Lock()

        def complete(self, request: ModelRequest) -> ModelResponse:
            with self._lock:
                self.calls += 1
            return self._model.complete(request)

    principals, assistants = Counting(), Counting()
    with serve(principals) as one, serve(assistants) as two:
        (tmp_path / "officetown.toml").write_text(
            f'[default]\nurl = "{one.url}"\nmodel = "officetown"\nprices = {{ input = 1, output = 1 }}\nrate = 100000\n'
            f'[assistant]\nurl = "{two.url}"\nmodel = "officetown"\n[client]\nmodel = "offline"\n'
        )
        desk = Desk(tmp_path, capsys)
        refused = desk("run", JUNIPER, "--days", "1", "--budget", "5")
        assert refused.code == 2 and "none for: assistant;" in refused.err
        desk.json("run", JUNIPER, "--days", "1", "--seed", "1")
    costs = desk.json("costs", "Juniper")
    by = {role: used["calls"] for role, used in costs["by_role"].items()}
    assert principals.calls == by["principal"] > 20
    assert assistants.calls == by["assistant"] >= 1
    assert costs["by_role"]["principal"]["micros"] > 0 == costs["by_role"]["assistant"]["micros"]
    assert costs["by_person"]["check"]["calls"] == 2, "what is asked beforehand is paid for like any other call"
    (run,) = desk.json("show", "Juniper")["runs"]
    assert run["models"] == {"principal": "officetown", "client": "offline", "assistant": "officetown"}
    assert run["prompts"] and "officetown (assistant, principal), offline (client)" in desk("show", "Juniper").out


# -- pace -------------------------------------------------------------------------------------------------------------


def test_a_rate_keeps_calls_apart_and_an_idle_minute_is_not_saved_up() -> None:
    now, waited = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    gate = PacedGate(4, 30, lambda: now[0], sleep)
    for _ in range(3):
        with gate.slot():
            pass
    assert waited == [2.0, 2.0]
    now[0] += 60
    for _ in range(2):
        with gate.slot():
            pass
    assert waited == [2.0, 2.0, 2.0]


def test_a_rate_must_be_above_nothing() -> None:
    with pytest.raises(ValueError, match="above 0"):
        PacedGate(1, 0, lambda: 0.0, lambda _: None)


def test_a_rate_that_is_set_is_kept_by_every_attempt(made: ExitStack) -> None:
    now, waited = [0.0], list[float]()
    with serve(Able()) as server:
        settings = ModelSettings(server.url, "m", rate=60.0)
        found = connect({"principal": settings}, around(waited, lambda: now[0]), made)
        for number in range(3):
            found.model.complete(request("principal", f"a.{number}"))
    assert waited == [1.0, 2.0], "the clock stands still, so each waits for its own moment"


# -- the call beforehand ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (401, error("Incorrect API key provided: " + KEY), 2, "did not accept the key"),
        (403, error("no"), 2, "did not accept the key"),
        (404, error("no such model", "model_not_found"), 2, "knows no such model or address"),
        (200, b"<html>Welcome</html>", 2, "not JSON"),
        (200, b'{"hello": 1}', 2, "lacks the parts of an answer"),
        (400, error("what is this"), 2, "refused this request"),
        (429, error("pay first", "insufficient_quota"), 4, "credit"),
        (402, error("pay first"), 4, "credit"),
    ],
)
def test_a_wrong_endpoint_is_one_clear_line_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, body: bytes, code: int, words: str
) -> None:
    with Raw(status, body) as server:
        desk = Desk(
            tmp_path, capsys, {"OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "m", "OFFICETOWN_MODEL_KEY": KEY}
        )
        said = desk("run", JUNIPER)
        assert said.code == code
        assert words in said.err and server.url in said.err and said.err.count("\n") == 1
        assert KEY not in said.err + said.out
        assert desk.json("offices") == {"offices": []}
        assert len(server.seen) <= 2
        new = desk("new", "A three-person bakery", "-o", tmp_path / "bakery")
        assert (new.code, words in new.err) == (code, True)
        assert not (tmp_path / "bakery").exists()
        scored = desk("eval", snapshot(tmp_path / "task"), "--agent", "builtin", "-o", tmp_path / "results")
        assert (scored.code, words in scored.err, KEY in scored.err) == (code, True, False)
        assert scored.err == said.err.replace("principal, client, assistant, world", "assistant")
        assert not (tmp_path / "results").exists()


def snapshot(folder: Path) -> Path:
    """A folder that is found as a snapshot, and refused as soon as it is opened."""
    folder.mkdir(exist_ok=True)
    (folder / "snapshot.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("task", "--agent", "builtin", "--no-check"), ("task", "--agent", "oracle"), ("task", "--agent", "cmd:true"),
        ("task", "--agent", "builtin", "--model", "offline"), ("task", "--agent", "builtin", "--model", "other"),
        ("task", "--agent", "builtin", "--turns", "few"), ("nothing-here", "--agent", "builtin"),
    ],
)  # fmt: skip
def test_eval_asks_nobody_beforehand_who_is_not_needed_or_of_what_cannot_be_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    snapshot(tmp_path / "task")
    with Raw(401, error("no")) as server:
        desk = Desk(tmp_path / "home", capsys, {"OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "m"})
        assert desk("eval", tmp_path / arguments[0], *arguments[1:]).code in (1, 2)
        assert server.seen == []


def test_eval_asks_the_assistants_endpoint_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Others may be out of order, or lack their keys: nobody asks them."""
    able = Able()
    (tmp_path / "home").mkdir()
    with serve(able) as server:
        (tmp_path / "home" / "officetown.toml").write_text(
            f'[default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\nkey_env = "NOT_SET"\n'
            f'[assistant]\nurl = "{server.url}"\nmodel = "small"\n'
        )
        desk = Desk(tmp_path / "home", capsys)
        said = desk("eval", snapshot(tmp_path / "task"), "--agent", "builtin", "--model", "small")
    assert "snapshot" in said.err and "NOT_SET" not in said.err
    assert sum(able.asked.values()) == 1


def test_an_address_where_nobody_listens_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path, capsys, {"OFFICETOWN_MODEL_URL": "http://127.0.0.1:9/v1", "OFFICETOWN_MODEL": "m"})
    said = desk("run", JUNIPER)
    assert said.code == 4
    assert "could not be reached" in said.err and "Check the address" in said.err
    assert desk.json("offices") == {"offices": []}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_only_passes_is_let_pass(status: int) -> None:
    said: list[str] = []
    with Raw(status, error("later")) as server:
        line = Line(ModelSettings(server.url, "m"), ("principal",))
        (call,) = check([line], around(), say=said.append)
    assert call.response is None and "it is waited for" in said[0]
    assert len(server.seen) == 2


def test_a_package_with_faults_is_told_before_any_model_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "organization.yaml").write_text("name: 3")
    with Raw(401, error("no")) as server:
        desk = Desk(tmp_path / "home", capsys, {"OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "m"})
        assert desk("run", str(tmp_path / "broken")).code == 2
        assert desk("run", "nobody").code == 2
        assert server.seen == []


def test_a_budget_is_not_spent_on_the_call_beforehand_where_it_does_not_suffice() -> None:
    able = Able()
    with serve(able) as server:
        found = [Line(ModelSettings(server.url, "m", prices=PRICES), ("principal",))]
        (call,) = check(found, around())
        assert call.micros == 40
        assert check(found, around(), left=40) == ()
        assert len(check(found, around(), left=10**9)) == 1
    assert sum(able.asked.values()) == 2


class Watching(Able):
    """Notes what an office's books held at the moment it was asked."""

    def __init__(self, journal: MemoryJournal) -> None:
        super().__init__()
        self.journal = journal
        self.held: list[int] = []

    def complete(self, request: ModelRequest) -> ModelResponse:
        self.held.append(self.journal.charged_micros())
        return super().complete(request)


def test_the_call_beforehand_is_on_the_books_before_it_is_made_and_for_what_it_cost_after() -> None:
    """RULE 2: a process that dies while it asks has charged the worst case."""
    journal = MemoryJournal()
    able = Watching(journal)
    with serve(able) as server:
        line = Line(ModelSettings(server.url, "m", prices=PRICES), OFFICE)
        (call,) = check([line], around(), journal=journal)  # type: ignore[arg-type]
    assert able.held[0] >= call.micros == 40
    assert journal.charged_micros() == 40


def test_an_outage_names_no_key(made: ExitStack) -> None:
    """RULE 3: an endpoint that nobody can use stops the run; what it said is told without the key it repeats."""
    with Raw(401, error(f"bad key {KEY}")) as server:
        found = connect({"principal": ModelSettings(server.url, "m", KEY)}, around(), made)
        with pytest.raises(ModelOutage, match=r"bad key \[key\]") as told:
            found.model.complete(request("principal"))
    assert KEY not in str(told.value)


def test_a_check_that_fails_raises_what_the_command_ends_with() -> None:
    with Raw(401, error("no")) as server, pytest.raises(UsageError):
        check([Line(ModelSettings(server.url, "m"), ("principal",))], around())
    with pytest.raises(InfrastructureError):
        check([Line(ModelSettings("http://127.0.0.1:9/v1", "m"), ("principal",))], around())


# -- doctor -----------------------------------------------------------------------------------------------------------


def test_doctor_tries_each_endpoint_and_says_what_it_can_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(Able()) as able, Raw(401, error(f"bad {KEY}")) as locked:
        (tmp_path / "officetown.toml").write_text(
            f'[default]\nurl = "{able.url}"\nmodel = "m"\n[judge]\nurl = "{locked.url}"\nmodel = "j"\nkey_env = "J_KEY"\n'
            f'[generator]\nurl = "{locked.url}"\nmodel = "g"\nkey_env = "G_KEY"\n[client]\nmodel = "offline"\n'
        )
        said = Desk(tmp_path, capsys, {"J_KEY": KEY})("doctor", "--json")
    assert said.code == 4
    told = [line for line in said.err.splitlines() if line.startswith("Model: ")]
    assert len(told) == 4
    good = next(line for line in told if "(principal, assistant, world)" in line)
    assert (
        "answers; it calls itself able; tools: native; structured: json_schema; reasoning: no; usage: yes; price: unknown"
        in good
    )
    assert any("did not accept the key (" in line and "Check J_KEY." in line for line in told)
    assert any("G_KEY is not set" in line for line in told)
    assert any("offline professional" in line and "(client)" in line for line in told)
    assert KEY not in said.out + said.err
    models = {model["model"]: model for model in said.result["models"]}
    assert models["m"] | {"url": ""} == {
        "roles": ["principal", "assistant", "world"], "model": "m", "url": "", "answers": True, "tools": "native",
        "structured": "json_schema", "reasoning": False, "usage": True,
    }  # fmt: skip
    assert models["j"]["answers"] is False
    assert len(said.result["faults"]) == 2


def test_doctor_without_an_endpoint_asks_nobody(desk: Desk) -> None:
    result = desk.json("doctor")
    assert result == {"faults": [], "models": []}
