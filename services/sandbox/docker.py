"""Sandboxes in containers: one a task, hardened, thrown away afterwards (RULES 30 to 36, RELIABILITY "Sandbox").

The supervisor is the container's first process and is spoken to through the engine's own stream to it, so there is
neither a port nor a socket to mount. It leaves when that stream closes, as it does when this process dies, and the
engine then removes the container. The read-only trees come as a tar stream through a second process that belongs to
nobody; it has ended before the first command starts.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import msgspec
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.types import LogConfig, Ulimit

from services.sandbox import engine, image, packed, prefix, runtime
from services.sandbox.engine import Stream
from services.sandbox.layout import PROGRAM
from services.sandbox.limits import Limits
from services.sandbox.owners import Owner
from services.sandbox.session import Session
from services.sandbox.variables import environment
from simulator.errors import SandboxUnavailable
from simulator.ports import BlobStore, SandboxSpec

USER, NOBODY = "1000:1000", "65534:65534"
LABEL, OWNER, PLACE = "officetown.sandbox", "officetown.owner", "officetown.place"
START = f"import sys; sys.path.insert(0, '{PROGRAM}'); from services.sandbox.contained import main; main()"
COMMAND = [f"{prefix.INSIDE}/bin/python3", "-I", "-S", "-X", "utf8", "-c", START]
_MIB = 1 << 20
_PERIOD_US = 100_000
_BOUNDS = ("MemoryLimit", "PidsLimit", "CpuCfsQuota")  # what an engine says it can bound
# RLIMIT_NPROC counts a user's processes in all containers and outside them: so the engine bounds those of one container,
# and this only keeps anybody from raising it.
_NPROC = 16_384


class _Ready(msgspec.Struct, frozen=True):
    client: docker.APIClient
    image: str
    owner: Owner


class _Contained:
    """One container, from before it is made until nothing of it is left."""

    def __init__(self, client: docker.APIClient, live: dict[str, _Contained]) -> None:
        self.name = f"officetown-{secrets.token_hex(8)}"
        self.stream: Stream | None = None
        self._client = client
        self._live = live
        self._lock = threading.Lock()
        self._said: str | None = None
        live[self.name] = self

    def end(self) -> str:
        """Remove the container; return what its first process complained of. Safe to call twice."""
        if self.stream:
            with contextlib.suppress(OSError):
                self.stream.shutdown(socket.SHUT_RDWR)  # whoever waits for an answer learns that there is none
        with self._lock:
            if self._said is None:
                self._said = self._end()
                self._live.pop(self.name, None)
            return self._said

    def _end(self) -> str:
        said = ""
        if self.stream:
            self.stream.close()
            said = self.stream.complaints.decode("utf-8", "replace")
        try:
            remove(self._client, self.name)
        except (DockerException, requests.RequestException, OSError):
            # The engine is away. It removes the container when its first process leaves; a later reap looks again.
            said += f" (the engine did not say that container {self.name} is removed)"
        return said


class Docker:
    """Starts sandboxes. Fulfils `SandboxProvider`; several threads may use it at once.

    `settings` names the engine as the Docker tools' variables do (DOCKER_HOST, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH);
    nothing of it means the local one. `owners` is the folder by which the processes that share sandboxes know of each
    other: one below OFFICETOWN_HOME, so that a crashed run's next start finds what it left. `wanted` is the image's
    name; without it, it is the one that this checkout makes.
    """

    name = "docker"

    def __init__(
        self,
        blobs: BlobStore,
        settings: Mapping[str, str] | None = None,
        owners: Path | None = None,
        wanted: str = "",
        limits: Limits | None = None,
    ) -> None:
        self._blobs = blobs
        self._settings = dict(settings or {})
        self._owners = owners or runtime.default_owners()
        self._wanted = wanted
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._ready: _Ready | None = None
        self._live: dict[str, _Contained] = {}

    def check(self) -> None:
        """Raise SandboxUnavailable, saying what to do, unless sandboxes work here. Cheap after the first time."""
        self._prepare()

    def start(self, spec: SandboxSpec) -> Session:
        """Start a sandbox: see the port."""
        ready = self._prepare()
        trees = packed.pack(spec.mounts, spec.now, self._blobs)
        box = _Contained(ready.client, self._live)
        session: Session | None = None
        try:
            with engine.speaking("starting a sandbox"):
                create(ready.client, box.name, ready.image, self._labels(ready, spec), self._limits, trees)
                box.stream = engine.attach(ready.client, box.name)
                ready.client.start(box.name)
                engine.feed(ready.client, box.name, packed.UNPACK, NOBODY, trees.data, self._limits.start_s)
            # The supervisor's own bound on processes would count those of every other sandbox: see _NPROC.
            inside = msgspec.structs.replace(self._limits, tasks=0)
            session = Session(box.stream, box, self._blobs, inside)
            session.begin(spec, environment(spec.now))
        except BaseException:  # whatever it is, what was taken is given back before it goes on
            (session.close if session else box.end)()
            raise
        return session

    def reap(self) -> int:
        """Remove the containers of processes that are gone: see the port. Those of living ones are not touched."""
        ready = self._prepare()
        gone = 0
        with engine.speaking("looking for left containers"):
            # The tokens first: a process that ends between the two looks is judged the next time.
            dead = [token for token in ready.owner.tokens() if ready.owner.is_gone(token)]
            for found in _containers(ready.client, ready.owner.place):
                token = str(found["Labels"].get(OWNER))
                own = token == ready.owner.token and not self._live.keys() & {n.lstrip("/") for n in found["Names"]}
                if own or ready.owner.is_gone(token):
                    remove(ready.client, str(found["Id"]))
                    gone += 1
            for token in dead:
                ready.owner.forget(token)
        return gone

    def close(self) -> None:
        """End every sandbox that is still there, and let go of the engine."""
        with self._lock:
            for box in list(self._live.values()):
                box.end()
            if self._ready:
                self._ready.owner.release()
                self._ready.client.close()
                self._ready = None

    def _labels(self, ready: _Ready, spec: SandboxSpec) -> dict[str, str]:
        return {LABEL: spec.label, OWNER: ready.owner.token, PLACE: ready.owner.place}

    def _prepare(self) -> _Ready:
        with self._lock:
            if self._ready is None:
                client = engine.connect(self._settings)
                try:
                    self._ready = _Ready(client, suitable(client, self._wanted or image.name()), Owner(self._owners))
                except BaseException:  # whatever it is, what was taken is given back before it goes on
                    client.close()
                    raise
            return self._ready


def suitable(client: docker.APIClient, wanted: str) -> str:
    """Return the digest of the image to run. Raises SandboxUnavailable where this engine cannot hold a sandbox."""
    with engine.speaking("asking what it is"):
        about: dict[str, Any] = client.info()
    if about.get("OSType") != "linux":
        raise SandboxUnavailable(
            f"The container engine runs {about.get('OSType')} containers, and a sandbox needs Linux ones. Switch it."
        )
    missing = [bound for bound in _BOUNDS if not about.get(bound)]
    if missing:
        raise SandboxUnavailable(
            f"The container engine cannot bound what a sandbox uses ({', '.join(missing)}): it has no say over cgroups. "
            "For an engine without root, have systemd delegate cpu, memory and pids to its user; or use the bubblewrap "
            "sandbox."
        )
    return image.find(client, wanted)


def create(
    client: docker.APIClient, name: str, digest: str, labels: Mapping[str, str], limits: Limits, trees: packed.Packed
) -> None:
    """Make the container, not started: all that holds it is said here."""
    memory, places = bounds(limits, trees)
    client.create_container(
        digest, COMMAND, name=name, hostname="computer", user=USER, working_dir="/", stdin_open=True, tty=False,
        environment={}, labels=dict(labels), use_config_proxy=False, network_disabled=True,
        host_config=client.create_host_config(
            network_mode="none", dns=["127.0.0.1"], dns_search=["."], ipc_mode="private", cgroupns="private",
            cap_drop=["ALL"], security_opt=["no-new-privileges:true"], privileged=False, read_only=True, tmpfs=places,
            mem_limit=memory, memswap_limit=memory, oom_score_adj=500, pids_limit=limits.tasks or 2 * limits.processes,
            cpu_period=_PERIOD_US, cpu_quota=limits.cores * _PERIOD_US,
            ulimits=[
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=limits.file_size, hard=limits.file_size),
                Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
                Ulimit(name="nproc", soft=_NPROC, hard=_NPROC),
            ],
            # What passes over the stream is the office's own and belongs in no log of the engine's.
            log_config=LogConfig(type="none"), auto_remove=True,
        ),
    )  # fmt: skip


def bounds(limits: Limits, trees: packed.Packed) -> tuple[int, dict[str, str]]:
    """The memory of a container in bytes, and its file systems in memory, by place.

    What lies in those counts as its memory; on top of the commands' own, which the supervisor bounds exactly and by
    name, there is room for the supervisor and for what passes that bound before it looks.
    """
    files, state = 4 * limits.home_files + 1024, max(_MIB, 4 * limits.state)
    tree_room = trees.room + _MIB
    own = "exec,uid=1000,gid=1000,mode=0755"

    def kept(size: int, inodes: int, more: str) -> str:
        return f"rw,nosuid,nodev,size={size},nr_inodes={inodes},{more}"

    places = {
        "/home/npc/computer": kept(limits.home_bytes, files, own),
        "/tmp": kept(limits.scratch_bytes, files, own),  # noqa: S108  # inside the sandbox, where nobody else is
        "/dev/shm": kept(limits.scratch_bytes, files, own),  # noqa: S108
        "/run": kept(state, files, own),
        "/mnt": kept(tree_room, trees.inodes + 64, "exec,uid=65534,gid=65534,mode=0755"),
        # The kernel's own view of the machine, and queues that would outlive a command and belong to no process.
        "/sys": "ro,nosuid,nodev,noexec,size=4096,nr_inodes=2,mode=0555",
        "/dev/mqueue": "ro,nosuid,nodev,noexec,size=4096,nr_inodes=2,mode=0555",
    }
    memory = limits.memory + limits.memory // 4 + 64 * _MIB
    return memory + limits.home_bytes + 2 * limits.scratch_bytes + state + tree_room, places


def remove(client: docker.APIClient, container: str) -> None:
    """Kill and remove a container and wait until it is gone; nothing happens if it is not there."""
    try:
        client.remove_container(container, force=True, v=True)
        return
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # the engine is removing it already
            raise
    with contextlib.suppress(NotFound):
        client.wait(container, timeout=30, condition="removed")


def _containers(client: docker.APIClient, place: str) -> list[dict[str, Any]]:
    return list(client.containers(all=True, filters={"label": f"{PLACE}={place}"}))

