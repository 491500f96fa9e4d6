"""The container engine: how it is reached, what its silence means in plain words, and its streams without loss."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException
from docker.tls import TLSConfig

from simulator.errors import SandboxError, SandboxUnavailable

DEFAULT = "unix:///var/run/docker.sock"
OLDEST_API = (1, 41)  # Docker 20.10
_OLDEST = ".".join(map(str, OLDEST_API))
_TIMEOUT_S = 120  # for one answer; a busy disk may take long to make a container
_COMPLAINT = 4000
INSTALL = "Install Docker Engine 20.10 or later and start it, or use the bubblewrap sandbox."


def connect(settings: Mapping[str, str]) -> docker.APIClient:
    """Connect to the engine named by DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH in `settings`.

    Nothing else is read from the mapping, and nothing from the environment. Raises SandboxUnavailable with what to do.
    """
    address = settings.get("DOCKER_HOST") or DEFAULT
    _knock(address)
    tls = _tls(settings)
    spoken = _spoken(address, tls)
    if tuple(int(part) for part in spoken.split(".")) < OLDEST_API:
        raise SandboxUnavailable(
            f"The container engine at {address} is too old: it speaks version {spoken} of its interface, and "
            f"{_OLDEST} is needed. {INSTALL}"
        )
    return docker.APIClient(base_url=address, version=spoken, timeout=_TIMEOUT_S, tls=tls)


def _spoken(address: str, tls: TLSConfig | bool) -> str:
    """The version of its interface that the engine speaks: `1.41`."""
    try:
        with contextlib.closing(docker.APIClient(base_url=address, version=_OLDEST, timeout=30, tls=tls)) as client:
            about: Any = client.version(api_version=False)
    except (DockerException, requests.RequestException, OSError) as error:
        raise SandboxUnavailable(
            f"The container engine at {address} does not answer as one: {str(error)[:300]}. {INSTALL}"
        ) from error
    spoken = str(about.get("ApiVersion")) if isinstance(about, dict) else ""
    if not re.fullmatch(r"\d+\.\d+", spoken):
        raise SandboxUnavailable(
            f"The container engine at {address} does not answer as one: it does not say which version it speaks. {INSTALL}"
        )
    return spoken


@contextlib.contextmanager
def speaking(doing: str) -> Iterator[None]:
    """Turn what goes wrong between this process and the engine into SandboxError: never a result (inspect_ai#4709)."""
    try:
        yield
    except APIError as error:
        said = str(error.explanation or error)[:500]
        raise SandboxError(f"The container engine failed at {doing}: {said}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise SandboxError(f"The container engine was lost at {doing}: {str(error)[:500]}") from error


class Stream:
    """A stream to a container's process, with what it answers taken out of the engine's packets.

    It is used like a socket. The engine cuts answers and complaints (standard output and error) into packets: a byte
    for which of the two, three of zero, four of length (big-endian), and the bytes. `complaints` keeps the last of what
    came as complaints. Bytes are neither lost nor changed, whatever the cuts and the timeouts between them.
    """

    def __init__(self, hijacked: Any) -> None:
        """Take over what `attach_socket` or `exec_start` gave."""
        self._held = hijacked  # closes its socket when it is forgotten
        self._socket: socket.socket = getattr(hijacked, "_sock", hijacked)
        self._raw = bytearray()
        self._left = 0
        self._kind = 0
        self.complaints = b""

    def settimeout(self, seconds: float | None) -> None:
        """As of a socket."""
        self._socket.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        """As of a socket."""
        self._socket.sendall(data)

    def shutdown(self, how: int) -> None:
        """As of a socket."""
        self._socket.shutdown(how)

    def close(self) -> None:
        """As of a socket."""
        response = getattr(self._held, "_response", None)
        if response is not None:
            response.close()
        self._held.close()
        self._socket.close()

    def recv(self, count: int) -> bytes:
        """Return at most `count` bytes of the answer, or none at its end. Raises OSError, among them TimeoutError."""
        while True:
            part = self._packet(count)
            if part:
                return part
            more = self._socket.recv(max(65536, count))
            if not more:
                return b""
            self._raw += more

    def _packet(self, count: int) -> bytes:
        """Take bytes of the answer from what has come, as far as it has."""
        while self._raw:
            if not self._left:
                if len(self._raw) < 8:
                    return b""
                self._kind, self._left = self._raw[0], int.from_bytes(self._raw[4:8], "big")
                if self._kind > 2 or any(self._raw[1:4]):
                    raise ConnectionError("the engine sent no packet")
                del self._raw[:8]
                continue
            part = bytes(self._raw[: min(count, self._left)])
            del self._raw[: len(part)]
            self._left -= len(part)
            if self._kind == 2:
                self.complaints = (self.complaints + part)[-_COMPLAINT:]
            else:
                return part
        return b""


def attach(client: docker.APIClient, container: str) -> Stream:
    """A stream to the first process of a container that is not started yet."""
    wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    return Stream(client.attach_socket(container, params=wanted))


def feed(client: docker.APIClient, container: str, command: list[str], user: str, data: bytes, within_s: float) -> None:
    """Run a program in the container with `data` as its input. Raises SandboxError unless it ends well in time."""
    job = client.exec_create(container, command, stdin=True, stdout=True, stderr=True, user=user, workdir="/")["Id"]
    stream = Stream(client.exec_start(job, socket=True))
    deadline = time.monotonic() + within_s
    said = bytearray()
    try:
        stream.settimeout(within_s)
        # A program that ends early takes no more, and says why; and not every kind of connection has two halves.
        with contextlib.suppress(OSError):
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
        while True:
            stream.settimeout(max(0.001, deadline - time.monotonic()))
            part = stream.recv(65536)
            if not part:
                break
            said = (said + part)[-_COMPLAINT:]
    finally:
        stream.close()
    code = _exit_code(client, job, deadline)
    if code != 0:
        words = (bytes(said) + stream.complaints).decode("utf-8", "replace").strip()[-500:]
        raise SandboxError(f"A sandbox's files could not be laid down: {command[0]} ended with {code}. {words}")


def _exit_code(client: docker.APIClient, job: str, deadline: float) -> int | None:
    """The exit code of a program whose output has ended; the engine may learn of its end a moment later."""
    while True:
        found = client.exec_inspect(job)
        if not found["Running"] or time.monotonic() > deadline:
            return None if found["Running"] else found["ExitCode"]
        time.sleep(0.005)


def _knock(address: str) -> None:
    """Try the local socket first: its errors tell apart what the engine's own library tells as one."""
    if not address.startswith("unix://"):
        return
    path = "/" + address.removeprefix("unix://").lstrip("/")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.settimeout(10)
        probe.connect(path)
    except PermissionError as error:
        raise SandboxUnavailable(
            f"This user may not use the container engine: no permission on {path}. Add the user to its group (usually: "
            "usermod -aG docker USER, then log in again), or use the bubblewrap sandbox."
        ) from error
    except FileNotFoundError as error:
        raise SandboxUnavailable(f"There is no container engine here: {path} does not exist. {INSTALL}") from error
    except OSError as error:
        raise SandboxUnavailable(
            f"No container engine listens at {path} ({error.strerror or error}). Start it (usually: systemctl start "
            "docker), or use the bubblewrap sandbox."
        ) from error
    finally:
        probe.close()


def _tls(settings: Mapping[str, str]) -> TLSConfig | bool:
    folder, verify = settings.get("DOCKER_CERT_PATH") or "", bool(settings.get("DOCKER_TLS_VERIFY"))
    if not folder and not verify:
        return False
    if not folder:
        raise SandboxUnavailable("DOCKER_TLS_VERIFY is set and DOCKER_CERT_PATH is not: name the certificates' folder.")
    place = Path(folder)
    pair = (str(place / "cert.pem"), str(place / "key.pem"))
    try:
        return TLSConfig(client_cert=pair, ca_cert=str(place / "ca.pem"), verify=verify)
    except DockerException as error:
        raise SandboxUnavailable(f"The container engine's certificates in {folder} cannot be used: {error}") from error
