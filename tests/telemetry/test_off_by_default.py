"""Telemetry is off by default: nothing imports opentelemetry unasked, and the extra may be missing."""

from __future__ import annotations

import ast
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.telemetry import Tracing, tracing, wanted
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import UsageError

ROOT = Path(__file__).parents[2]
PACKAGES = ("simulator", "services", "bench", "training", "orchestrator", "migrations", "fixtures", "tools")
HOME = ROOT / "services" / "telemetry"


class Saying:
    def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse("yes", model="m")


REQUEST = ModelRequest("principal", ("daniel.1", 1), "s", (Message("user", "Well?"),))


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_one_folder_alone_imports_opentelemetry_and_one_file_that_folder() -> None:
    files = [p for package in PACKAGES for p in (ROOT / package).rglob("*.py") if "skills" not in p.parts]
    assert len(files) > 100
    foreign = [p for p in files if any(n.split(".")[0] == "opentelemetry" for n in _imported(p)) and p.parent != HOME]
    assert foreign == []
    users = [p for p in files if any(n.startswith("services.telemetry") for n in _imported(p)) and p.parent != HOME]
    assert users == [ROOT / "orchestrator" / "telemetry.py"]


def test_an_office_runs_without_it(tmp_path: Path) -> None:
    """A whole process in which opentelemetry cannot be imported makes an office and runs it for a day."""
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'opentelemetry': raise ModuleNotFoundError('refused', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from orchestrator.telemetry import tracing\n"
        "import orchestrator.compose, orchestrator.running, orchestrator.provenance\n"
        "from tests.offline.town import Town\n"
        "from tests.rules.desk import Desks\n"
        "town, desks = Town(1), Desks()\n"
        "desks.blobs = town.blobs\n"
        "with tracing({}, 'office') as traced:\n"
        "    town.model = traced.model(town.model)\n"
        "    office = town.run(1, desks, traced.observers)\n"
        "assert office.revision > 100\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'opentelemetry']\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, False), ({"OFFICETOWN_OTEL": ""}, False), ({"OFFICETOWN_OTEL": "0"}, False), ({"OFFICETOWN_OTEL": "1"}, True),
        ({"OFFICETOWN_OTEL": "TRUE"}, True), ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OFFICETOWN_OTEL": "0"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OFFICETOWN_OTEL": "1", "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True), ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)  # fmt: skip
def test_the_environment_decides(environ: dict[str, str], on: bool) -> None:
    assert wanted(environ) is on


def test_a_switch_that_is_neither_on_nor_off_is_told() -> None:
    with pytest.raises(UsageError, match=r"OFFICETOWN_OTEL='maybe': write 1 to send spans, 0 not to\."):
        wanted({"OFFICETOWN_OTEL": "maybe"})


def test_when_off_a_model_is_itself() -> None:
    model = Saying()
    with tracing({}, "office") as traced:
        assert type(traced) is Tracing and traced.observers == () and traced.model(model, "m") is model


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra were not installed."""
    for name in [n for n in sys.modules if n.startswith(("services.telemetry", "opentelemetry"))]:
        monkeypatch.delitem(sys.modules, name)

    class Refuse:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name.split(".")[0] == "opentelemetry":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Refuse(), *sys.meta_path])


@pytest.mark.usefixtures("missing")
def test_asked_for_by_name_a_missing_extra_is_told() -> None:
    with pytest.raises(UsageError, match=r"pip install 'officetown\[telemetry\]'"), tracing({"OFFICETOWN_OTEL": "1"}, "office"):
        raise AssertionError("not reached")


@pytest.mark.usefixtures("missing")
def test_where_only_the_machine_asks_a_missing_extra_is_no_fault() -> None:
    model = Saying()
    with tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, "office") as traced:
        assert traced.model(model) is model


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes what is posted."""

    taken: list[tuple[str, bytes]]

    def do_POST(self) -> None:  # noqa: N802 - the server's own naming
        self.taken.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    taken: list[tuple[str, bytes]] = []
    kind = type("Taking", (Collector,), {"taken": taken})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", taken
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector(
    collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra: officetown[telemetry]")
    url, taken = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    with tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_SERVICE_NAME": "my-office"}, "office-7", "acme") as traced:
        assert traced.model(Saying(), "m-1").complete(REQUEST).content == "yes"
        assert len(traced.observers) == 1
    assert {path for path, _ in taken} == {"/v1/traces"}
    body = b"".join(data for _, data in taken)
    for name in (b"chat m-1", b"invoke_agent", b"office-7", b"my-office", b"acme", b"gen_ai.usage.input_tokens"):
        assert name in body
    assert b"Well?" not in body and b"yes" not in body
