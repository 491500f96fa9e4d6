"""A record is shared without keys, and replays to the same hash where no model is; what is watched is sent, if asked."""

from __future__ import annotations

import base64
import re
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.models.http_server import serve
from services.offline import OfflineProfessional
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import ModelOutage
from tests.orchestrator.support import JUNIPER, Desk
from tests.orchestrator.test_endpoints import KEY, Raw

SAID = "a word that only the model says"


class Telling:
    """The offline professional behind an endpoint that repeats its caller's key wherever it can; counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self._model, self._lock = OfflineProfessional(), threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer; the second call fails on the way, the fifth for good, each with the key in its words."""
        with self._lock:
            self.calls += 1
            number = self.calls
        if number == 1:
            return ModelResponse(SAID)
        if number == 2:
            raise ModelOutage(f"who is {KEY}?")
        if number == 5:
            return ModelResponse(finish="unavailable", detail=f"not for {KEY}")
        return self._model.complete(request)


def opened(data: bytes) -> Iterator[bytes]:
    """Bytes as they are, and everything that is compressed in them."""
    yield data
    for found in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
        try:
            yield zlib.decompressobj().decompress(data[found.start() :])
        except zlib.error:
            continue


def texts(folder: Path) -> Iterator[bytes]:
    """Every byte in a folder, packs opened, whatever is compressed or written as base64 in them too."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        contents = [path.read_bytes()]
        if path.suffix == ".office":
            with zipfile.ZipFile(path) as archive:
                contents += [archive.read(name) for name in archive.namelist()]
        for data in contents:
            yield from opened(data)
            for found in re.finditer(rb'"([A-Za-z0-9+/]{16,}={0,2})"', data):
                if len(found[1]) % 4 == 0:
                    yield from opened(base64.b64decode(found[1]))


def test_no_key_and_no_address_is_in_a_pack_and_it_replays_elsewhere_without_a_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Telling()
    with serve(model) as server:
        variables = {"OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "officetown", "OFFICETOWN_MODEL_KEY": KEY}
        here = Desk(tmp_path / "here", capsys, variables)
        ran = here.json("run", JUNIPER, "--days", "1", "--seed", "1")
        (tmp_path / "pack").mkdir()
        here.json("pack", "Juniper", "-o", tmp_path / "pack" / "juniper.office")
        asked = model.calls
        there = Desk(tmp_path / "there", capsys, {**variables, "OFFICETOWN_MODEL_KEY": "another"})
        there.json("unpack", tmp_path / "pack" / "juniper.office")
        assert there.json("replay", "Juniper") == {"hash": ran["hash"]}
        assert there.json("log", "Juniper", "--hash")["hash"] == ran["hash"]
        assert model.calls == asked
    address = server.url.removeprefix("http://").removesuffix("/v1").encode()
    packed, home = list(texts(tmp_path / "pack")), list(texts(tmp_path / "here"))
    assert any(SAID.encode() in text for text in packed), "what is compressed is looked into"
    assert not any(KEY.encode() in text or address in text for text in (*packed, *home))


def test_an_offices_spans_are_sent_where_they_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with Raw(200, b"", "application/x-protobuf") as collector, serve(OfflineProfessional()) as server:
        variables = {
            "OFFICETOWN_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url.removesuffix("/v1"),
            "OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "officetown", "OFFICETOWN_MODEL_KEY": KEY,
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patched:
            # The address is read by the SDK itself, from the process's own environment.
            patched.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", variables["OTEL_EXPORTER_OTLP_ENDPOINT"])
            traced = Desk(tmp_path / "traced", capsys, variables).json("run", JUNIPER, "--days", "1", "--seed", "1")
    assert "/v1/traces" in collector.seen
    sent = b"".join(collector.bodies)
    assert b"chat officetown" in sent and b"invoke_agent" in sent and KEY.encode() not in sent
    plain = Desk(tmp_path / "plain", capsys).json("run", JUNIPER, "--days", "1", "--seed", "1")
    assert plain["hash"] == traced["hash"], "watching changes nothing"


def test_a_switch_that_is_neither_on_nor_off_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Desk(tmp_path, capsys, {"OFFICETOWN_OTEL": "perhaps"})("run", JUNIPER, "--days", "1")
    assert said.code == 2 and "OFFICETOWN_OTEL" in said.err
