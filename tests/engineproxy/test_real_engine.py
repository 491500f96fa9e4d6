"""The docker sandbox and a Docker client, through the proxy, against a real engine (OFFICETOWN_TEST_DOCKER=1)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import APIError, NotFound

from services.sandbox import engine, image
from services.sandbox.docker import LABEL, Docker
from simulator.ports import SandboxSpec
from tests.engineproxy.support import Engine, Front, proxied
from tests.sandbox.conformance import MemoryBlobs

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        not os.environ.get("OFFICETOWN_TEST_DOCKER"),
        reason="set OFFICETOWN_TEST_DOCKER=1 where a container engine runs",
    ),
]
ENGINE = Path(os.environ.get("DOCKER_HOST", engine.DEFAULT).removeprefix("unix://"))
SPEC = SandboxSpec("proxied", (), {"company": (), "services": (), "task": ()}, 1_767_600_000)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A proxy in front of the real engine."""
    with tempfile.TemporaryDirectory(prefix="ep") as folder:
        unused = Engine(Path(folder) / "unused.sock")
        front = Front(Path(folder) / "proxy.sock", unused)
        with proxied(ENGINE, front):
            yield f"unix://{front.path}"
        unused.server_close()


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[docker.APIClient]:
    """Docker's own client at the proxy."""
    client = engine.connect({"DOCKER_HOST": address})
    yield client
    client.close()


@pytest.fixture(scope="module")
def direct() -> Iterator[docker.APIClient]:
    """The same, at the engine itself: the machine's owner."""
    client = engine.connect(os.environ)
    yield client
    client.close()


@pytest.fixture(scope="module")
def foreign(direct: docker.APIClient) -> Iterator[str]:
    """A container that is none of the office's, though made from its image."""
    made = direct.create_container(image.name(), ["x"], host_config=direct.create_host_config(network_mode="none"))[
        "Id"
    ]
    yield made
    direct.remove_container(made, force=True)


def test_a_sandbox_lives_and_ends_through_the_proxy(address: str, tmp_path: Path, direct: docker.APIClient) -> None:
    blobs = MemoryBlobs()
    provider = Docker(blobs, {"DOCKER_HOST": address}, tmp_path / "owners")
    sandbox = provider.start(SPEC)
    try:
        data = bytes(range(256)) * 4000
        sandbox.write("big.bin", data)
        assert sandbox.read("big.bin") == data
        said = sandbox.run("sha256sum big.bin | cut -c1-8; id -u; ls /mnt")
        assert said.exit_code == 0 and said.stdout.split()[1:] == ["1000", "company", "services", "task"]
        entries, refused = sandbox.export_home()
        assert [e.path for e in entries] == ["big.bin"] and refused == ()
    finally:
        sandbox.close()
    assert provider.reap() == 0
    provider.close()
    assert not direct.containers(all=True, filters={"label": f"{LABEL}=proxied"})


def test_what_a_process_left_is_found_and_removed_through_the_proxy(address: str, tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    first = Docker(blobs, {"DOCKER_HOST": address}, tmp_path / "owners")
    left = first.start(SPEC)
    first._live.clear()  # as if this process had just begun and knew of none
    assert first.reap() == 1
    left.close()
    first.close()


def _create(client: docker.APIClient, **host: Any) -> Any:
    body = client.create_host_config(
        network_mode="none", cap_drop=["ALL"], security_opt=["no-new-privileges"], read_only=True,
        mem_limit=1 << 26, pids_limit=16, **host,
    )  # fmt: skip
    return client.create_container(
        image.name(), ["/bin/true"], user="1000:1000", labels={LABEL: "bad"}, host_config=body, use_config_proxy=False
    )


@pytest.mark.parametrize(
    "host",
    [{"binds": ["/:/host"]}, {"privileged": True}, {"cap_add": ["SYS_ADMIN"]}, {"pid_mode": "host"}, {"devices": ["/dev/kmsg"]},
     {"ipc_mode": "host"}, {"userns_mode": "host"}, {"sysctls": {"kernel.shmmax": "1"}}, {"volumes_from": ["x"]}],
)  # fmt: skip
def test_a_way_out_is_refused_and_no_container_is_made(
    client: docker.APIClient, direct: docker.APIClient, host: dict[str, Any]
) -> None:
    with pytest.raises(APIError, match="engine proxy") as refused:
        _create(client, **host)
    assert refused.value.status_code == 403
    assert not direct.containers(all=True, filters={"label": f"{LABEL}=bad"})


def test_without_a_way_out_one_is_made_and_only_it_can_be_touched(client: docker.APIClient, foreign: str) -> None:
    made = _create(client)["Id"]
    try:
        assert [c["Id"] for c in client.containers(all=True) if c["Id"] in (made, foreign)] == [made]
        for touch in (client.start, client.kill, client.inspect_container, client.remove_container, client.logs):
            with pytest.raises(APIError, match="no sandbox of this office"):
                touch(foreign)
        with pytest.raises(APIError, match="no sandbox of this office"):
            client.exec_create(foreign[:12], ["true"])
    finally:
        client.remove_container(made, force=True)
    with pytest.raises(NotFound):
        client.remove_container(made)


def test_the_rest_of_the_engine_is_not_there(client: docker.APIClient) -> None:
    for ask in (client.networks, client.volumes, client.df, client.create_volume, lambda: client.pull("alpine", "3"),
                client.prune_containers):  # fmt: skip
        with pytest.raises(APIError) as refused:
            ask()
        assert refused.value.status_code == 403
    assert "Name" not in client.info() and client.info()["OSType"] == "linux"
