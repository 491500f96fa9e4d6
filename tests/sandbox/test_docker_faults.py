"""Engines that are absent, closed, old, full or lost; and what a killed orchestrator leaves to the next."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from services.sandbox import engine, image
from services.sandbox.docker import LABEL, OWNER, PLACE, Docker
from services.sandbox.limits import Limits
from simulator.errors import SandboxError, SandboxUnavailable
from simulator.ports import SandboxSpec
from tests.sandbox.conformance import NOW, SMALL, MemoryBlobs
from tests.sandbox.engines import REAL, Line, need_engine, pretending, wait_for

_EMPTY = SandboxSpec("test", (), {}, NOW)
_WANTED = "officetown/assistant:pretended"
_VERSION = (200, {"ApiVersion": "1.41", "MinAPIVersion": "1.12"})
_INFO = {"OSType": "linux", "MemoryLimit": True, "PidsLimit": True, "CpuCfsQuota": True}
_GOOD = {
    "/version": _VERSION,
    "/info": (200, _INFO),
    f"/images/{_WANTED}/json": (200, {"Id": "sha256:" + "0" * 64}),
}


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


def _refusal(settings: dict[str, str], tmp_path: Path, blobs: MemoryBlobs) -> str:
    provider = Docker(blobs, settings, tmp_path / "owners", _WANTED)
    with pytest.raises(SandboxUnavailable) as told:
        provider.check()
    with pytest.raises(SandboxUnavailable):
        provider.start(_EMPTY)
    provider.close()
    return str(told.value)


# -- where it cannot work it says what to do ---------------------------------------------------------------------------


def test_no_engine(tmp_path: Path, blobs: MemoryBlobs) -> None:
    told = _refusal({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}, tmp_path, blobs)
    assert "no container engine here" in told and "Install Docker" in told and "bubblewrap" in told


def test_an_engine_that_does_not_run(tmp_path: Path, blobs: MemoryBlobs) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left.sock"))
    left.close()
    told = _refusal({"DOCKER_HOST": f"unix://{tmp_path}/left.sock"}, tmp_path, blobs)
    assert "No container engine listens" in told and "systemctl start docker" in told
    told = _refusal({"DOCKER_HOST": "tcp://127.0.0.1:1"}, tmp_path, blobs)
    assert "tcp://127.0.0.1:1 does not answer" in told and "Install Docker" in told


def test_no_permission_on_the_socket(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "closed.sock"))
    listener.listen()
    (tmp_path / "closed.sock").chmod(0)
    me = os.geteuid()
    try:
        if me == 0:
            os.seteuid(65_534)
        with pytest.raises(SandboxUnavailable, match="no permission on .*closed.sock.*usermod -aG docker"):
            engine.connect({"DOCKER_HOST": f"unix://{tmp_path}/closed.sock"})
    finally:
        os.seteuid(me)
        listener.close()


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"/version": (200, {"ApiVersion": "1.40"})}, "too old: it speaks version 1.40.*1.41 is needed.*20.10"),
        ({"/version": (200, {"ApiVersion": "1.9"})}, "too old"),
        ({"/version": (200, {"Version": "4"})}, "does not answer as one: it does not say"),
        ({"/version": (200, [])}, "does not answer as one: it does not say"),
        ({"/version": (200, b"<html>a web server</html>")}, "does not answer as one"),
        ({}, "does not answer as one"),
        ({**_GOOD, "/info": (200, {**_INFO, "OSType": "windows"})}, "windows containers.*Linux"),
        ({**_GOOD, "/info": (200, {**_INFO, "PidsLimit": False})}, r"cannot bound.*\(PidsLimit\).*delegate"),
        ({"/version": _VERSION, "/info": (200, _INFO), "/images/json": (200, [])}, "has no image.*Build it once with"),
    ],
)
def test_an_engine_that_cannot_serve(
    answers: dict[str, tuple[int, Any]], words: str, tmp_path: Path, blobs: MemoryBlobs
) -> None:
    with pretending(tmp_path, answers) as settings:
        told = _refusal(settings, tmp_path, blobs)
    with pytest.raises(AssertionError, match="(?s)" + words):
        raise AssertionError(told)


def test_certificates_that_are_not_there_are_named(tmp_path: Path) -> None:
    address = {"DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_TLS_VERIFY": "1"}
    with pytest.raises(SandboxUnavailable, match="DOCKER_CERT_PATH is not"):
        engine.connect(address)
    with pytest.raises(SandboxUnavailable, match="certificates in .* cannot be used"):
        engine.connect({**address, "DOCKER_CERT_PATH": str(tmp_path)})


def test_only_what_is_passed_in_names_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is for whoever composes the parts to read."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/of-the-environment.sock")
    with pytest.raises(SandboxUnavailable) as told:
        engine.connect({"DOCKER_HOST": f"unix://{tmp_path}/passed.sock"})
    assert "passed.sock" in str(told.value)
    monkeypatch.setattr(engine, "DEFAULT", f"unix://{tmp_path}/default.sock")
    with pytest.raises(SandboxUnavailable, match="default.sock"):
        engine.connect({})


def test_owners_that_cannot_be_kept_are_told(tmp_path: Path, blobs: MemoryBlobs) -> None:
    (tmp_path / "file").touch()
    with pretending(tmp_path, _GOOD) as settings:
        provider = Docker(blobs, settings, tmp_path / "file" / "owners", _WANTED)
        with pytest.raises(SandboxUnavailable, match="cannot keep track of its containers.*Name a folder"):
            provider.check()


# -- an engine that fails is never a tool's output ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message"),
    [(500, "no space left on device"), (500, "OCI runtime create failed"), (404, "No such image"), (503, "shutting down")],
)
def test_an_engine_that_refuses_to_start_one(code: int, message: str, tmp_path: Path, blobs: MemoryBlobs) -> None:
    answers = {**_GOOD, "/containers/create": (code, {"message": message}), "/containers/json": (200, [])}
    with pretending(tmp_path, answers) as settings:
        provider = Docker(blobs, settings, tmp_path / "owners", _WANTED)
        provider.check()
        with pytest.raises(SandboxError, match=f"failed at starting a sandbox: {message}"):
            provider.start(_EMPTY)
        assert not provider._live
        assert provider.reap() == 0
        provider.close()


def test_a_build_that_fails_says_where(tmp_path: Path) -> None:
    steps = b'{"stream": "Step 1/9 : FROM x\\n"}\n{"stream": "no such package\\n"}\n{"error": "returned 1"}\n'
    answers = {"/version": _VERSION, "/images/json": (200, []), "/build": (200, steps)}
    with pretending(tmp_path, answers) as settings:
        client = engine.connect(settings)
        expected = pytest.raises(SandboxUnavailable, match="(?s)could not be built: returned 1.*no such package")
        with contextlib.closing(client), expected:
            image.build(client)


@pytest.mark.sandbox
def test_an_engine_lost_in_the_middle_of_a_command(tmp_path: Path, blobs: MemoryBlobs) -> None:
    """The command is not answered, the error says so, and the engine removes the container of its own accord."""
    need_engine()
    told, again = _lose_the_engine(tmp_path, blobs)
    assert "died" in told and "did not say that container" in told
    assert "lost at starting a sandbox" in again


def _lose_the_engine(folder: Path, blobs: MemoryBlobs) -> tuple[str, str]:
    """What a command that was running is told, and what the next start is."""
    line = Line(folder)
    provider = Docker(blobs, line.settings, folder / "owners", limits=SMALL)
    client = engine.connect(REAL)
    outcome: list[str] = []
    try:
        box = provider.start(_EMPTY)
        name = str(box._process.name)  # type: ignore[attr-defined]

        def work() -> None:
            try:
                outcome.append(box.run("echo partly; sleep 30", timeout_s=30).stdout)
            except SandboxError as error:
                outcome.append(str(error))

        worker = threading.Thread(target=work)
        worker.start()
        wait_for(lambda: client.top(name)["Processes"][-1][-1].startswith("sleep"))
        line.cut()
        worker.join(60)
        wait_for(lambda: not client.containers(all=True, filters={"name": name}))
        try:
            provider.start(_EMPTY)
        except SandboxError as error:
            outcome.append(str(error))
    finally:
        provider.close()
        line.close()
        client.close()
    return outcome[0], outcome[1]


# -- what killed processes left ----------------------------------------------------------------------------------------

_STORY = """
import sys
from pathlib import Path
from services.sandbox.docker import Docker
from simulator.ports import SandboxSpec
from tests.sandbox.conformance import MemoryBlobs
from tests.sandbox.engines import REAL
p = Docker(MemoryBlobs(), REAL, Path(sys.argv[1]))
boxes = [p.start(SandboxSpec("left", (), {}, 0)) for _ in range(2)]
print(*(box._process.name for box in boxes), p._ready.owner.token, flush=True)
boxes[0].run("sleep 60 & setsid sleep 60", timeout_s=60)
"""


@pytest.fixture
def client() -> Iterator[docker.APIClient]:
    need_engine()
    client = engine.connect(REAL)
    yield client
    client.close()


@pytest.mark.sandbox
def test_after_a_killed_orchestrator_nothing_is_left_and_the_living_keep_theirs(
    tmp_path: Path, blobs: MemoryBlobs, client: docker.APIClient
) -> None:
    """A container ends with the process that started it; one that cannot (it is frozen) is for the next start to reap."""
    owners = tmp_path / "owners"
    living = Docker(blobs, REAL, owners, limits=SMALL)
    elsewhere = Docker(blobs, REAL, tmp_path / "another-home", limits=SMALL)
    mine, theirs = living.start(_EMPTY), elsewhere.start(_EMPTY)
    child = subprocess.Popen(
        [sys.executable, "-c", _STORY, str(owners)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert child.stdout is not None
    busy, frozen, token = child.stdout.readline().split()
    wait_for(lambda: sum("sleep" in row[-1] for row in client.top(busy)["Processes"]) >= 2)
    assert living.reap() == 0, "that process lives"
    client.pause(frozen)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    try:
        wait_for(lambda: not client.containers(all=True, filters={"name": busy}))
        assert client.containers(all=True, filters={"name": frozen}), "nothing but a reaper ends it"
        fresh = Docker(blobs, REAL, owners, limits=SMALL)
        assert elsewhere.reap() == 0, "it cannot judge what belongs to another home"
        assert fresh.reap() == 1
        assert not client.containers(all=True, filters={"name": frozen})
        assert fresh.reap() == living.reap() == 0 and not (owners / token).exists()
        assert mine.run("echo alive").stdout == theirs.run("echo alive").stdout == "alive\n"
        fresh.close()
    finally:
        for provider in (living, elsewhere):
            provider.close()


@pytest.mark.sandbox
def test_a_container_that_was_made_and_never_started_is_reaped(
    tmp_path: Path, blobs: MemoryBlobs, client: docker.APIClient
) -> None:
    """As when the process died, or the engine's answer was lost, between the two; strangers' are no business of ours."""
    provider = Docker(blobs, REAL, tmp_path / "owners", limits=SMALL)
    provider.check()
    assert provider._ready is not None
    owner, digest = provider._ready.owner, provider._ready.image
    made = [
        client.create_container(digest, ["true"], labels=labels)["Id"]
        for labels in (
            {LABEL: "x", PLACE: owner.place, OWNER: "0" * 32},
            {LABEL: "x", PLACE: owner.place, OWNER: owner.token},
            {LABEL: "x", PLACE: owner.place, OWNER: "../../etc"},
            {LABEL: "x", PLACE: "another", OWNER: "0" * 32},
            {LABEL: "x"},
        )
    ]
    try:
        assert provider.reap() == 2
        left = {found["Id"] for found in client.containers(all=True)} & set(made)
        assert left == set(made[2:])
    finally:
        for one in made[2:]:
            client.remove_container(one, force=True)
        provider.close()


@pytest.mark.sandbox
def test_starting_takes_no_longer_than_is_promised(tmp_path: Path, blobs: MemoryBlobs) -> None:
    """Not a bar on speed, which a busy machine could not hold, but on a start that waits for something."""
    need_engine()
    provider = Docker(blobs, REAL, tmp_path / "owners", limits=Limits(start_s=15))
    try:
        for _ in range(3):
            box = provider.start(_EMPTY)
            assert box.run("echo up").stdout == "up\n"
            box.close()
    finally:
        provider.close()
