"""The container provider under the conformance suite, and what only containers have: what the engine says of them."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import APIError

from services.sandbox import engine, packed, prefix
from services.sandbox.docker import LABEL, OWNER, PLACE, Docker
from services.sandbox.limits import Limits
from simulator.errors import SandboxError, SandboxUnavailable
from simulator.ports import Sandbox, SandboxSpec, ShellState, TreeEntry
from tests.sandbox.conformance import CANARY, NOW, SMALL, Conformance, MemoryBlobs
from tests.sandbox.engines import REAL, need_engine, wait_for

_EMPTY = SandboxSpec("test", (), {}, NOW)
pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    need_engine()


@pytest.fixture(scope="module")
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "sandboxes"


@pytest.fixture(scope="module")
def provider(_engine: None, owners: Path, blobs: MemoryBlobs) -> Iterator[Docker]:
    provider = Docker(blobs, REAL, owners, limits=SMALL)
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def client(_engine: None) -> Iterator[docker.APIClient]:
    client = engine.connect(REAL)
    yield client
    client.close()


@pytest.fixture
def start(provider: Docker) -> Iterator[Callable[[SandboxSpec], Sandbox]]:
    running: list[Sandbox] = []

    def start(spec: SandboxSpec) -> Sandbox:
        running.append(provider.start(spec))
        return running[-1]

    yield start
    for box in running:
        box.close()


def _name(box: Sandbox) -> str:
    return str(box._process.name)  # type: ignore[attr-defined]


def _there(client: docker.APIClient, **labels: str) -> list[str]:
    wanted = [f"{name.replace('_', '.')}={value}" for name, value in labels.items()]
    return [str(found["Names"][0]).lstrip("/") for found in client.containers(all=True, filters={"label": wanted})]


class TestDocker(Conformance):
    """The whole suite."""


# -- hardening, in the engine's own words ------------------------------------------------------------------------------


def test_the_engine_says_that_it_is_held(start: Callable[[SandboxSpec], Sandbox], client: docker.APIClient) -> None:
    """RELIABILITY "Sandbox": every flag, as the engine has it and not as it was asked for."""
    found = client.inspect_container(_name(start(_EMPTY)))
    host, config = found["HostConfig"], found["Config"]
    assert (host["CapDrop"], host["CapAdd"], host["Privileged"]) == (["ALL"], None, False)
    assert host["SecurityOpt"] == ["no-new-privileges:true"], "and so the engine's own filter of system calls"
    assert (config["User"], host["UsernsMode"] in ("", None), host["GroupAdd"]) == ("1000:1000", True, None)
    assert host["ReadonlyRootfs"] is True and found["Mounts"] == [] and not host["Binds"] and not host["VolumesFrom"]
    assert not host["Devices"] and not host["DeviceRequests"]
    assert host["NetworkMode"] == "none" and list(found["NetworkSettings"]["Networks"]) in (["none"], [])
    assert (host["IpcMode"], host["PidMode"], host["UTSMode"], host["CgroupnsMode"]) == ("private", "", "", "private")
    assert host["MaskedPaths"] and host["ReadonlyPaths"], "the engine's own"
    assert config["Tty"] is False and config["StdinOnce"] is True and config["Hostname"] == "computer"
    assert host["AutoRemove"] is True and host["RestartPolicy"]["Name"] in ("", "no")
    assert host["LogConfig"]["Type"] == "none", "no log of what passes"
    assert found["Image"].startswith("sha256:") and config["Image"] == found["Image"], "by digest"
    assert {LABEL, OWNER, PLACE} <= set(config["Labels"])


def test_the_engine_bounds_what_it_uses(start: Callable[[SandboxSpec], Sandbox], client: docker.APIClient) -> None:
    """RULE 34: memory without swap beyond it, processes, processors, file size, descriptors, and every file system."""
    host = client.inspect_container(_name(start(_EMPTY)))["HostConfig"]
    in_memory = SMALL.home_bytes + 2 * SMALL.scratch_bytes
    assert SMALL.memory + in_memory < host["Memory"] == host["MemorySwap"] < 2 * (SMALL.memory + in_memory)
    assert host["PidsLimit"] == SMALL.tasks and host["CpuQuota"] == SMALL.cores * host["CpuPeriod"] > 0
    limits = {one["Name"]: (one["Soft"], one["Hard"]) for one in host["Ulimits"]}
    assert limits["fsize"] == (SMALL.file_size,) * 2 and limits["nofile"] == (SMALL.open_files,) * 2
    assert limits["core"] == (0, 0)
    places = {place: options.split(",") for place, options in host["Tmpfs"].items()}
    assert set(places) >= {"/home/npc/computer", "/tmp", "/run", "/dev/shm", "/mnt"}
    for options in places.values():
        assert {"nosuid", "nodev"} <= set(options)
        assert {option.split("=")[0] for option in options} >= {"size", "nr_inodes", "mode"}
    assert f"size={SMALL.home_bytes}" in places["/home/npc/computer"]


def test_the_kernel_agrees(start: Callable[[SandboxSpec], Sandbox]) -> None:
    """No capability to have or to gain, no new rights, two filters: the engine's and this project's over it."""
    seen = dict(line.split(":\t", 1) for line in start(_EMPTY).run("cat /proc/1/status").stdout.splitlines())
    assert {seen[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert seen["NoNewPrivs"] == "1" and seen["Uid"].split() == ["1000"] * 4 and seen["Groups"].split() in ([], ["1000"])
    assert seen["Seccomp"] == "2" and int(seen.get("Seccomp_filters", "2")) >= 2


def test_no_secret_of_the_host_reaches_the_engine(
    blobs: MemoryBlobs, owners: Path, client: docker.APIClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither in the environment nor in arguments; not even the proxies that Docker's own configuration hands on."""
    monkeypatch.setenv("OFFICETOWN_TEST_SECRET", CANARY)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    proxies = {"default": {"httpProxy": f"http://me:{CANARY}@proxy.invalid:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    provider = Docker(blobs, REAL, owners, limits=SMALL)
    try:
        box = provider.start(_EMPTY)
        found = client.inspect_container(_name(box))
        assert CANARY not in json.dumps(found)
        assert [one.split("=")[0] for one in found["Config"]["Env"] or []] in ([], ["PATH"])
        assert str(tmp_path) not in json.dumps(found)
    finally:
        provider.close()


def test_two_sandboxes_share_nothing(start: Callable[[SandboxSpec], Sandbox]) -> None:
    kinds = ("net", "pid", "mnt", "ipc", "uts", "cgroup")
    look = f"for k in {' '.join(kinds)}; do readlink /proc/self/ns/$k; done"
    one, two = (start(_EMPTY).run(look).stdout.split() for _ in range(2))
    assert len(one) == len(kinds) and not set(one) & set(two)
    for kind, inside in zip(kinds, one, strict=True):
        assert str(Path(f"/proc/self/ns/{kind}").readlink()) != inside


def test_no_name_is_resolved_and_no_resolver_is_named(start: Callable[[SandboxSpec], Sandbox]) -> None:
    """OpenShell#1169: names were a way out. Not by the engine's own resolver either."""
    ask = (
        "import socket\n"
        "for place in ('127.0.0.11', '127.0.0.1', '8.8.8.8'):\n"
        "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)\n"
        "    try: s.connect((place, 53)); s.send(bytes(12)); s.recv(9); print('reached', place)\n"
        "    except OSError: print('refused')\n"
    )
    box = start(_EMPTY)
    box.write("ask.py", ask.encode())
    assert box.run("python3 ask.py", 20).stdout.split() == ["refused"] * 3
    named = {line.split()[1] for line in box.run("cat /etc/resolv.conf").stdout.splitlines() if line.startswith("nameserver")}
    assert named <= {"127.0.0.1"}
    assert box.run("getent hosts example.com; echo $?").stdout == "2\n"
    assert box.run("cat /etc/hostname").stdout.strip() in ("computer", "")


def test_a_read_only_root_takes_trees_where_the_engine_s_own_copy_fails(
    start: Callable[[SandboxSpec], Sandbox], client: docker.APIClient, blobs: MemoryBlobs
) -> None:
    """llm-sandbox#189: copies break on a read-only root. Files pass by streams here, in and out."""
    box = start(SandboxSpec("t", (TreeEntry("in", blobs.put(b"in")),), {"task": (TreeEntry("T", blobs.put(b"T")),)}, NOW))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("planted"))
    with pytest.raises(APIError, match="read-only"):
        client.put_archive(_name(box), "/", archive.getvalue())
    box.write("out", b"out")
    assert [entry.path for entry in box.export_home()[0]] == ["in", "out"]
    assert box.run("cat /mnt/task/T in").stdout == "Tin"


# -- the trees ---------------------------------------------------------------------------------------------------------


def test_trees_belong_to_nobody_and_carry_any_name(start: Callable[[SandboxSpec], Sandbox], blobs: MemoryBlobs) -> None:
    names = ("a/" * 20 + "deep.txt", "Ünïcödé — 文書.txt", "n" * 200 + "/" + "m" * 200, "sp ace/'q\"$(x)", "run.sh")
    entries = tuple(TreeEntry(name, blobs.put(name.encode()), 0o755 if name == "run.sh" else 0o644) for name in names)
    box = start(SandboxSpec("t", (), {"company": entries, "services": ()}, NOW))
    for name in names:
        assert box.read(f"/mnt/company/{name}") == name.encode()
    modes = box.run("find /mnt -printf '%y %m %u %g\\n' | sort -u").stdout.splitlines()
    assert modes == ["d 555 nobody nogroup", "f 444 nobody nogroup", "f 555 nobody nogroup"]
    stamps = box.run("stat -c %Y /mnt /mnt/company /mnt/services /mnt/company/run.sh").stdout.split()
    assert stamps == [str(NOW)] * 4
    for attempt in ("chmod u+w /mnt", "chmod 777 /mnt/company/run.sh", "mv /mnt/company /mnt/x", "rm /mnt/company/run.sh",
                    "touch /mnt/company/run.sh", "ln /mnt/company/run.sh mine", "rmdir /mnt/services"):  # fmt: skip
        assert box.run(attempt).exit_code != 0, attempt


def test_a_large_tree_comes_whole(start: Callable[[SandboxSpec], Sandbox], blobs: MemoryBlobs) -> None:
    entries = tuple(TreeEntry(f"d{n % 40}/f{n}", blobs.put(b"%d" % n * 300)) for n in range(1500))
    box = start(SandboxSpec("t", (), {"company": (*entries, TreeEntry("big", blobs.put(bytes(20 << 20)))) }, NOW))
    assert box.run("find /mnt/company -type f | wc -l; stat -c %s /mnt/company/big").stdout.split() == ["1501", str(20 << 20)]
    assert box.read("/mnt/company/d9/f9") == b"9" * 300


# -- the image ---------------------------------------------------------------------------------------------------------


def test_the_image_holds_tools_and_nothing_that_installs_or_is_trusted(start: Callable[[SandboxSpec], Sandbox]) -> None:
    box = start(_EMPTY)
    tools = "bash ls cat find xargs grep sed awk diff sort head tail tar gzip stat date wc tr cut python3 env"
    assert box.run(f"for t in {tools}; do command -v $t >/dev/null || echo $t; done").stdout == ""
    gone = "pip pip3 apt apt-get dpkg gcc cc make curl wget git ssh openssl docker /usr/bin/python3"
    assert box.run(f"for t in {gone}; do command -v $t; done").stdout == ""
    assert box.run("python3 -c 'import pip'; python3 -c 'import ensurepip'").stderr.count("ModuleNotFoundError") == 2
    assert box.run("find / -xdev -perm /6000").stdout == "", "a program that runs as its owner"
    assert box.run("find / -xdev \\( -name '*.crt' -o -name '*.gpg' -o -name '*.key' -o -name id_rsa \\)").stdout == ""
    own = box.run("find / -xdev -writable ! -type l").stdout.split()
    assert set(own) <= {"/tmp", "/run", "/home/npc/computer"}, "what is not in memory is not the assistant's to write"
    assert box.run("ls /etc").stdout.split() == sorted(
        ("alternatives", "group", "hostname", "hosts", "ld.so.cache", "mtab", "nsswitch.conf", "passwd", "resolv.conf")
    )


def test_the_image_s_history_tells_of_no_machine(client: docker.APIClient, provider: Docker) -> None:
    provider.check()
    assert provider._ready is not None
    found = client.inspect_image(provider._ready.image)  # type: ignore[no-untyped-call]
    assert [one.split("=")[0] for one in found["Config"]["Env"] or []] in ([], ["PATH"])
    assert found["Config"]["User"] == "1000:1000"
    assert not found["Config"].get("ExposedPorts") and not found["Config"].get("Volumes")
    history = json.dumps(client.history(provider._ready.image))  # type: ignore[no-untyped-call]
    for word in ("http", "proxy", "CERT", "debootstrap"):
        assert word not in history, word


# -- death and the dead ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kill", ["kill", "remove_container"])
def test_a_container_that_dies_in_a_command_is_an_error_and_never_output(
    start: Callable[[SandboxSpec], Sandbox], client: docker.APIClient, kill: str
) -> None:
    """inspect_ai#4709: a dead container read as success."""
    box = start(_EMPTY)
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(box.run("echo partly; touch ready; sleep 30", timeout_s=30))
        except SandboxError as error:
            outcome.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    wait_for(lambda: client.top(_name(box))["Processes"][-1][-1].startswith("sleep"))
    getattr(client, kill)(_name(box), **({"force": True} if kill == "remove_container" else {}))
    worker.join(60)
    assert isinstance(outcome[0], SandboxError) and "died: it hung up" in str(outcome[0])
    with pytest.raises(SandboxError, match="gone"):
        box.run("true")
    wait_for(lambda: _name(box) not in _there(client, officetown_sandbox="test"))


def test_a_container_that_does_not_answer_is_dead(blobs: MemoryBlobs, owners: Path, client: docker.APIClient) -> None:
    provider = Docker(blobs, REAL, owners, limits=Limits(grace_s=1))
    try:
        box = provider.start(_EMPTY)
        client.pause(_name(box))
        with pytest.raises(SandboxError, match="did not answer in time"):
            box.run("true", timeout_s=1)
        assert _name(box) not in _there(client, officetown_sandbox="test"), "also a frozen one is removed"
    finally:
        provider.close()


def test_what_could_not_start_leaves_nothing(
    provider: Docker, blobs: MemoryBlobs, client: docker.APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = TreeEntry("a", blobs.put(b""))
    before = _there(client, officetown_place=_place(provider))
    clash = SandboxSpec("t", (), {"task": (entry, TreeEntry("a/b", entry.blob))}, NOW)
    with pytest.raises(SandboxError, match="as a file and as a folder"):
        provider.start(clash)
    with pytest.raises(SandboxError, match=r"\.\."):
        provider.start(SandboxSpec("t", (), {}, NOW, ShellState(folders=("../out",))))
    with pytest.raises(SandboxError, match="twice|supervisor failed"):
        provider.start(SandboxSpec("t", (entry, entry), {}, NOW))
    monkeypatch.setattr(packed, "UNPACK", ["/usr/bin/tar", "--no-such-option"])
    with pytest.raises(SandboxError, match="could not be laid down: /usr/bin/tar ended with 64|ended with 2"):
        provider.start(_EMPTY)
    monkeypatch.setattr(packed, "UNPACK", ["/no/such/program"])
    with pytest.raises(SandboxError, match="starting a sandbox|could not be laid down"):
        provider.start(_EMPTY)
    assert _there(client, officetown_place=_place(provider)) == before


def _place(provider: Docker) -> str:
    provider.check()
    assert provider._ready is not None
    return provider._ready.owner.place


def test_a_missing_image_and_a_stale_one_are_named(blobs: MemoryBlobs, owners: Path) -> None:
    missing = Docker(blobs, REAL, owners, "officetown/assistant:0000000000000000")
    with pytest.raises(SandboxUnavailable, match="no image officetown/assistant:0{16}.* were made from something else") as told:
        missing.check()
    assert "python -m services.sandbox.image build" in str(told.value) and "base.sh" in str(told.value)
    missing.close()


def test_closing_the_provider_ends_what_still_runs(blobs: MemoryBlobs, owners: Path, client: docker.APIClient) -> None:
    provider = Docker(blobs, REAL, owners, limits=SMALL)
    boxes = [provider.start(_EMPTY) for _ in range(2)]
    token = provider._ready.owner.token if provider._ready else ""
    assert len(_there(client, officetown_owner=token)) == 2
    provider.close()
    assert _there(client, officetown_owner=token) == [] and not (owners / token).exists()
    with pytest.raises(SandboxError):
        boxes[0].run("true")
    provider.close()


def test_the_prefix_is_where_bubblewrap_has_it(start: Callable[[SandboxSpec], Sandbox]) -> None:
    assert start(_EMPTY).run("command -v python3").stdout == f"{prefix.INSIDE}/bin/python3\n"
