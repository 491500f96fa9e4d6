"""An engine that only writes down what reaches it, the proxy in front of it, and a client that says exactly what it is told."""

from __future__ import annotations

import asyncio
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from services.engineproxy.bodies import Policy
from services.engineproxy.proxy import Proxy

IMAGE, LABEL = "officetown/assistant", "officetown.sandbox"
POLICY = Policy(IMAGE, LABEL)
OURS, THEIRS, JOB, FOREIGN_JOB = "a" * 64, "b" * 64, "c" * 64, "d" * 64
DIGEST = "sha256:" + "1" * 64
OTHER_DIGEST = "sha256:" + "2" * 64


def good() -> dict[str, Any]:
    """The body of a sandbox's container as the docker sandbox writes it."""
    return {
        "Hostname": "computer", "Domainname": None, "ExposedPorts": None, "User": "1000:1000", "Tty": False,
        "OpenStdin": True, "StdinOnce": True, "AttachStdin": True, "AttachStdout": True, "AttachStderr": True,
        "Env": None, "Cmd": ["/opt/py/bin/python3", "-c", "pass"], "Image": DIGEST, "Volumes": None,
        "NetworkDisabled": True, "Entrypoint": None, "WorkingDir": "/", "NetworkingConfig": None, "MacAddress": None,
        "Labels": {LABEL: "leah", "officetown.owner": "1"}, "StopSignal": None, "Healthcheck": None, "StopTimeout": None,
        "Runtime": None,
        "HostConfig": {
            "NetworkMode": "none", "Dns": ["127.0.0.1"], "DnsSearch": ["."], "IpcMode": "private",
            "CgroupnsMode": "private", "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges:true"],
            "Privileged": False, "ReadonlyRootfs": True, "Memory": 2 << 30, "MemorySwap": 2 << 30, "OomScoreAdj": 500,
            "PidsLimit": 256, "CpuPeriod": 100_000, "CpuQuota": 200_000, "AutoRemove": True,
            "Tmpfs": {"/tmp": "rw,nosuid,nodev,size=1048576,nr_inodes=100,exec,uid=1000,gid=1000,mode=0755"},
            "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}], "LogConfig": {"Type": "none", "Config": {}},
        },
    }  # fmt: skip


@dataclass
class Seen:
    """A request as it reached the engine."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Engine

    def address_string(self) -> str:
        return "client"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library names it so
        pass

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        seen = Seen(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        self.server.seen.append(seen)
        path = self.path.partition("?")[0]
        if path.endswith("/attach") or path.endswith(f"/exec/{JOB}/start"):
            self._stream("101 UPGRADED" if seen.headers.get("upgrade") else "200 OK")
            return
        status, answer = self.server.answer(path)
        said = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = _any  # noqa: N815  # the library looks for these names

    def _stream(self, status: str) -> None:
        """Say everything back, reversed, once the client has ended its half: the two directions are apart."""
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\nready".encode())
        self.wfile.flush()
        heard = self.rfile.read()
        self.server.heard.set()
        assert self.server.may_answer.wait(60)
        self.wfile.write(heard[::-1])
        self.close_connection = True


class Engine(socketserver.ThreadingUnixStreamServer):
    """An engine that has one container of ours and one of somebody else, and the images of both."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), _Handler)
        self.seen: list[Seen] = []
        self.heard = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.labels: dict[str, dict[str, str]] = {OURS: {LABEL: "leah"}, THEIRS: {"com.docker.compose.service": "db"}}

    def answer(self, path: str) -> tuple[int, object]:
        """What it says to a question, by its path without the version."""
        parts = [p for p in path.split("/") if p and not p.startswith("v1.")]
        if parts[:1] == ["containers"] and parts[-1] == "json" and len(parts) == 3:
            name = {"ours": OURS, "theirs": THEIRS}.get(parts[1], parts[1])
            if name not in self.labels:
                return 404, {"message": f"No such container: {parts[1]}"}
            return 200, {"Id": name, "Config": {"Labels": self.labels[name]}}
        if parts[:1] == ["images"] and parts[-1] == "json" and len(parts) > 2:
            wanted = "/".join(parts[1:-1])
            if wanted in (DIGEST, f"{IMAGE}:1"):
                return 200, {"Id": DIGEST, "RepoTags": [f"{IMAGE}:1"]}
            if wanted == OTHER_DIGEST:
                return 200, {"Id": OTHER_DIGEST, "RepoTags": ["postgres:17.6", "evil/officetown/assistant:1"]}
            return 404, {"message": f"No such image: {wanted}"}
        if parts[:1] == ["exec"] and parts[-1] == "json":
            return 200, {"ID": parts[1], "ContainerID": OURS if parts[1] == JOB else THEIRS}
        if parts == ["info"]:
            return 200, {
                "OSType": "linux",
                "MemoryLimit": True,
                "HttpProxy": "http://user:secret@proxy",
                "Labels": ["x"],
            }
        return 200, {"ok": True}

    @property
    def effects(self) -> list[Seen]:
        """What reached it beyond questions."""
        return [s for s in self.seen if s.method != "GET"]


@dataclass
class Answer:
    """What a client was told."""

    status: int
    head: str
    body: bytes

    @property
    def said(self) -> str:
        """The sentence of a refusal."""
        return str(json.loads(self.body)["message"])


@dataclass
class Front:
    """The proxy as a client sees it."""

    path: Path
    engine: Engine
    log: list[str] = field(default_factory=list)

    def connect(self) -> socket.socket:
        """Open a connection."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(20)
        client.connect(str(self.path))
        return client

    def raw(self, data: bytes) -> Answer:
        """Send exactly these bytes and read to the end."""
        with self.connect() as client:
            client.sendall(data)
            said = b""
            while part := client.recv(65536):
                said += part
        head, _, body = said.partition(b"\r\n\r\n")
        return Answer(int(head.split(b" ")[1]) if head else 0, head.decode(), body)

    def ask(self, method: str, target: str, body: object = None, **headers: str) -> Answer:
        """Send one plain request."""
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {target} HTTP/1.1", "Host: x", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
        if data:
            lines += [f"Content-Length: {len(data)}", "Content-Type: application/json"]
        return self.raw("\r\n".join([*lines, "", ""]).encode() + data)


@contextmanager
def fronted(folder: Path) -> Iterator[Front]:
    """An engine and a proxy in front of it, in threads of their own."""
    engine = Engine(folder / "engine.sock")
    threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    front = Front(folder / "proxy.sock", engine)
    with proxied(folder / "engine.sock", front):
        yield front
    engine.shutdown()
    engine.server_close()


@contextmanager
def proxied(engine: Path, front: Front) -> Iterator[None]:
    """A proxy at `front.path` in a thread of its own."""
    loop = asyncio.new_event_loop()
    up, ended = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with Proxy(engine, POLICY, front.log.append).listening(front.path):
            up.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert up.wait(60)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(60)
        loop.close()
