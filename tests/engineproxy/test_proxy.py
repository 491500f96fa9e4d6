"""The proxy in front of an engine that writes down what reaches it."""

from __future__ import annotations

import gc
import json
import socket
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from services.engineproxy.__main__ import check
from tests.engineproxy.support import (
    DIGEST,
    FOREIGN_JOB,
    IMAGE,
    JOB,
    LABEL,
    OTHER_DIGEST,
    OURS,
    THEIRS,
    Front,
    good,
    proxied,
)


def test_simple_questions_pass(front: Front) -> None:
    assert front.ask("GET", "/_ping").status == 200
    assert front.ask("HEAD", "/_ping").status == 200
    assert front.ask("GET", "/v1.41/version").status == 200
    assert [s.target for s in front.engine.seen] == ["/_ping", "/_ping", "/v1.41/version"]


def test_of_the_machine_only_what_sandboxes_need_is_told(front: Front) -> None:
    said = front.ask("GET", "/v1.41/info")
    assert json.loads(said.body) == {"OSType": "linux", "MemoryLimit": True}


def test_a_sandbox_is_made_and_its_image_is_named_by_its_id(front: Front) -> None:
    body = good() | {"Image": f"{IMAGE}:1"}
    assert front.ask("POST", "/v1.41/containers/create?name=officetown-1", body).status == 200
    (made,) = front.engine.effects
    assert made.target == "/v1.41/containers/create?name=officetown-1"
    assert json.loads(made.body) == good() and json.loads(made.body)["Image"] == DIGEST


def test_nothing_of_the_client_s_head_reaches_the_engine(front: Front) -> None:
    front.ask(
        "POST",
        "/containers/create",
        good(),
        X_Registry_Auth="secret",
        Cookie="a=b",
        Upgrade="h2c",
        Connection="Upgrade",
    )
    (made,) = front.engine.effects
    assert (
        set(made.headers) == {"host", "connection", "content-type", "content-length"}
        and made.headers["host"] == "docker"
    )


@pytest.mark.parametrize("image", ["alpine", "officetown/assistant2:1", "x/officetown/assistant:1", OTHER_DIGEST, "2" * 64,
                                   "officetown/assistant", "officetown/assistant:1@x", "../info", IMAGE + ":1/../../x"])  # fmt: skip
def test_a_container_of_another_image_is_refused(front: Front, image: str) -> None:
    said = front.ask("POST", "/containers/create", good() | {"Image": image})
    assert said.status in (403, 404) and front.engine.effects == []


def test_a_missing_image_is_the_engine_s_own_answer(front: Front) -> None:
    said = front.ask("GET", f"/v1.41/images/{IMAGE}:nothere/json")
    assert said.status == 404 and said.said == f"No such image: {IMAGE}:nothere"


def test_other_images_are_not_looked_at(front: Front) -> None:
    assert front.ask("GET", "/images/postgres:17.6/json").status == 403
    assert front.ask("GET", f"/images/{OTHER_DIGEST}/json").status == 403
    front.ask("GET", "/images/json?only_ids=0&all=0&filters=%7B%22reference%22%3A%5B%22postgres%22%5D%7D")
    asked = parse_qs(urlsplit(front.engine.seen[-1].target).query)
    assert json.loads(asked["filters"][0]) == {"reference": [IMAGE]}


@pytest.mark.parametrize(
    ("method", "after"),
    [("POST", "/start"), ("POST", "/stop?t=1"), ("POST", "/kill?signal=KILL"), ("POST", "/wait?condition=removed"),
     ("GET", "/logs?stdout=1"), ("DELETE", "?force=True&v=True&link=False"), ("GET", "/json"), ("POST", "/exec")],
)  # fmt: skip
def test_what_is_done_to_a_container_is_done_to_ours_alone(front: Front, method: str, after: str) -> None:
    body = {"Cmd": ["true"], "User": "65534"} if after == "/exec" else None
    assert front.ask(method, f"/v1.41/containers/ours{after}", body).status == 200
    assert front.engine.seen[-1].target.startswith(f"/v1.41/containers/{OURS}"), "by its id, whatever it was called"
    front.engine.seen.clear()
    for name in ("theirs", THEIRS):
        said = front.ask(method, f"/v1.41/containers/{name}{after}", body)
        assert said.status == 403 and "no sandbox of this office" in said.said
    assert {s.target for s in front.engine.seen} == {"/containers/theirs/json", f"/containers/{THEIRS}/json"}


def test_a_container_that_is_gone_is_the_engine_s_own_answer(front: Front) -> None:
    said = front.ask("DELETE", "/v1.41/containers/gone?force=True")
    assert said.status == 404 and said.said == "No such container: gone"


def test_a_list_is_of_ours_whatever_was_asked(front: Front) -> None:
    asked: dict[str, list[str]] = {}
    for filters in ("", "&filters=%7B%22label%22%3A%5B%22officetown.place%3Dx%22%5D%7D"):
        front.ask("GET", f"/v1.41/containers/json?all=1&limit=-1&size=0&trunc_cmd=0{filters}")
        asked = json.loads(parse_qs(urlsplit(front.engine.seen[-1].target).query)["filters"][0])
        assert asked["label"][-1] == LABEL
    assert asked["label"] == ["officetown.place=x", LABEL]
    assert front.ask("GET", '/containers/json?filters={"label":{"x":true}}'.replace('"', "%22")).status == 403
    assert front.ask("GET", '/containers/json?filters={"volume":["x"]}'.replace('"', "%22")).status == 403


def test_commands_belong_to_containers_of_ours(front: Front) -> None:
    assert front.ask("GET", f"/exec/{JOB}/json").status == 200
    assert front.ask("GET", f"/exec/{FOREIGN_JOB}/json").status == 403
    assert front.ask("POST", f"/exec/{FOREIGN_JOB}/start", {"Tty": False, "Detach": False}).status == 403
    assert front.ask("POST", "/containers/ours/exec", {"Cmd": ["sh"], "Privileged": True}).status == 403
    assert front.engine.effects == []


@pytest.mark.parametrize("upgrade", [True, False])
@pytest.mark.parametrize(
    "path", ["/v1.41/containers/ours/attach?stdin=1&stdout=1&stderr=1&stream=1", f"/v1.41/exec/{JOB}/start"]
)
def test_a_stream_passes_byte_for_byte_and_each_half_ends_by_itself(front: Front, path: str, upgrade: bool) -> None:
    sent = bytes(range(256)) * 2000 + b"POST /containers/create HTTP/1.1\r\n\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n" + ("Connection: Upgrade\r\nUpgrade: tcp\r\n" if upgrade else "")
    body = b'{"Tty": false, "Detach": false}' if "exec" in path else b""
    with front.connect() as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + sent[:100])
        client.sendall(sent[100:])
        client.shutdown(socket.SHUT_WR)
        said = b""
        while part := client.recv(65536):
            said += part
    answer, _, streamed = said.partition(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 101 UPGRADED" if upgrade else b"HTTP/1.1 200 OK")
    assert streamed == b"ready" + sent[::-1]
    assert front.engine.seen[-1].headers.get("upgrade") == ("tcp" if upgrade else None)


def test_a_stream_where_nothing_moves_is_kept(front: Front) -> None:
    """The loop holds its tasks weakly: one that waits on both sides was once swept away in the middle of a task."""
    with front.connect() as client:
        client.sendall(b"POST /containers/ours/attach?stream=1 HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        said = b""
        while not said.endswith(b"ready"):
            said += client.recv(1000)
        front.engine.heard.clear()
        front.engine.may_answer.clear()
        client.sendall(b"abc")
        client.shutdown(socket.SHUT_WR)
        assert front.engine.heard.wait(60)
        gc.collect()
        front.engine.may_answer.set()
        assert client.recv(1000) == b"cba"


def test_a_second_request_on_a_connection_is_not_read(front: Front) -> None:
    first = b"GET /_ping HTTP/1.1\r\nHost: x\r\n\r\n"
    said = front.raw(first + b"POST /containers/theirs/kill HTTP/1.1\r\n\r\n")
    assert said.status == 200 and [s.target for s in front.engine.seen] == ["/_ping"]


def test_a_body_where_none_belongs_is_refused(front: Front) -> None:
    said = front.raw(
        b"POST /containers/ours/start HTTP/1.1\r\nContent-Length: 40\r\n\r\nPOST /containers/theirs/kill HTTP/1.1\r\n\r\nx"
    )
    assert said.status == 403 and front.engine.effects == []


def test_a_chunked_body_is_checked_like_any_other(front: Front) -> None:
    head = b"POST /containers/create HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    bad = good()
    bad["HostConfig"]["Privileged"] = True
    for body, status in ((good(), 200), (bad, 403)):
        data = json.dumps(body).encode()
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(data[i : i + 99]), data[i : i + 99]) for i in range(0, len(data), 99))
        assert front.raw(head + chunks + b"0\r\n\r\n").status == status
    (made,) = front.engine.effects
    assert json.loads(made.body) == good() and "transfer-encoding" not in made.headers


@pytest.mark.parametrize(
    "data",
    [
        b"POST /containers/create HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /x HTTP/1.1\r\n\r\n",
        b"GET //_ping HTTP/1.1\r\n\r\n", b"GET /%5fping HTTP/1.1\r\n\r\n", b"GET /_PING HTTP/1.1\r\n\r\n",
        b"GET /v1.41/../_ping HTTP/1.1\r\n\r\n", b"PUT /containers/ours/archive?path=/ HTTP/1.1\r\n\r\n", b"hello\r\n\r\n",
        b"POST /build HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 500_000,
    ],
)  # fmt: skip
def test_a_refusal_is_a_sentence_and_the_engine_hears_nothing(front: Front, data: bytes) -> None:
    said = front.raw(data)
    assert said.status in (400, 403) and said.said.startswith("engine proxy: ") and said.said.endswith(".")
    assert front.engine.seen == [] and len(front.log) == 1 and front.log[0].startswith("refused ")


def test_an_engine_that_is_away_is_said_to_be(front: Front, tmp_path: Path) -> None:
    lonely = Front(front.path.with_name("lonely.sock"), front.engine)
    with proxied(tmp_path / "nothing.sock", lonely):
        said = lonely.ask("GET", "/_ping")
        assert said.status == 502 and "cannot be reached" in said.said
        assert "cannot be reached" in check(lonely.path)


def test_the_health_check_asks_the_engine_through_the_proxy(front: Front) -> None:
    assert check(front.path) == ""
    assert "nothing answers" in check(front.path.with_name("absent.sock"))


def test_its_socket_is_for_its_user_and_group_alone(front: Front) -> None:
    assert stat.S_IMODE(front.path.stat().st_mode) == 0o660
