"""Requests are read strictly: what could be understood in two ways is not understood at all."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.engineproxy import rules, wire
from services.engineproxy.wire import Refused, Request


def head(target: str, method: str = "GET", *headers: str) -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def read(data: bytes) -> tuple[Request, bytes]:
    async def inner() -> tuple[Request, bytes]:
        reader = asyncio.StreamReader(limit=wire.HEAD_BYTES)
        reader.feed_data(data)
        reader.feed_eof()
        request = wire.parse_head(await wire.read_head(reader))
        return request, await wire.read_body(request, reader)

    return asyncio.run(inner())


def test_a_plain_request_is_taken_apart() -> None:
    request, body = read(head("/v1.41/containers/json?all=1&filters=%7B%7D", "GET", "Content-Length: 2") + b"{}")
    assert (request.version, request.path, request.query) == (
        "/v1.41",
        "/containers/json",
        {"all": "1", "filters": "{}"},
    )
    assert body == b"{}"


@pytest.mark.parametrize(
    "target",
    ["//containers/json", "/containers//json", "/./containers/json", "/containers/../info", "/containers/x/../../info",
     "/%2e%2e/info", "/containers%2fjson", "/containers/json%00", "/v1.41/../info", "/containers/json/", "/info/.",
     "/containers/json?a=1&a=2", "/containers/json?a=1;b=2", "/containers/json?a", "/containers/json#x", "/\\info",
     "/containers/json?a=%ff", "/", "*", "http://x/info", "/containers/jso n"],
)  # fmt: skip
def test_a_path_is_written_plainly_or_refused(target: str) -> None:
    with pytest.raises(Refused):
        wire.parse_head(head(target))


@pytest.mark.parametrize(
    "target",
    ["/V1.41/info", "/v1/info", "/v1.411/info", "/v2.0/info", "/v1.41/v1.41/info", "/v1.41info", "/INFO", "/Containers/json",
     "/info/x", "/events", "/build", "/images/create", "/volumes", "/networks", "/swarm", "/secrets", "/plugins", "/commit",
     "/session", "/grpc", "/auth", "/system/df", "/distribution/x/json", "/containers/x/archive",
     "/containers/x/export", "/containers/x/top", "/containers/x/update", "/containers/x/rename", "/containers/x/resize",
     "/containers/x/attach/ws", "/containers/x/checkpoints", "/images/x/push", "/images/load", "/exec/x/json",
     "/exec/" + "c" * 64 + "/resize"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_nothing_but_the_table_is_there(target: str, method: str) -> None:
    with pytest.raises(Refused):
        rules.find(wire.parse_head(head(target, method)))


@pytest.mark.parametrize(
    ("method", "target"),
    [("POST", "/_ping"), ("POST", "/containers/prune"), ("POST", "/images/prune"),
     ("POST", "/info"), ("DELETE", "/images/x/json"), ("GET", "/containers/x/start"), ("GET", "/containers/create"),
     ("HEAD", "/containers/json"), ("POST", "/containers/x/json"), ("DELETE", "/exec/" + "c" * 64 + "/json")],
)  # fmt: skip
def test_nor_in_another_method(method: str, target: str) -> None:
    with pytest.raises(Refused):
        rules.find(wire.parse_head(head(target, method)))


@pytest.mark.parametrize(
    "target",
    ["/containers/x/start?detachKeys=a", "/containers/create?platform=x", "/containers/x?link=1", "/containers/x/attach?logs=1",
     "/containers/x/kill?signal=%0a", "/containers/create?name=../x", "/containers/x/wait?condition=never"],
)  # fmt: skip
def test_a_parameter_is_one_that_is_known(target: str) -> None:
    method = "DELETE" if "link" in target else "POST"
    with pytest.raises(Refused):
        rules.find(wire.parse_head(head(target, method)))


@pytest.mark.parametrize(
    "data",
    [
        head("/info", "GET", "Content-Length: 1", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
        head("/info", "GET", "content-length: 0", "Content-Length: 5") + b"hello",
        head("/info", "GET", "Transfer-Encoding: chunked", "transfer-encoding: identity"),
        head("/info", "GET", "Transfer-Encoding: xchunked"),
        head("/info", "GET", "Transfer-Encoding: gzip, chunked"),
        head("/info", "GET", "Content-Length: +1") + b"x",
        head("/info", "GET", "Content-Length: 1, 1") + b"x",
        head("/info", "GET", "Content-Length: 0x1") + b"x",
        head("/info", "GET", "Content-Length:"),
        head("/info", "GET", "Content-Length: ٣") + b"xxx",
        head("/info", "GET", "Content-Length : 1") + b"x",
        head("/info", "GET", " Folded: x"),
        head("/info", "GET", "X: a\r\n b"),
        head("/info", "GET", "No colon"),
        head("/info", "GET", "X: a\x00b"),
        head("/info", "GET", "Expect: 100-continue"),
        head("/info", "GET", "Content-Length: 9") + b"short",
        head("/info", "GET", "Content-Length: 999999999"),
        head("/info", "GET", *[f"X{i}: 1" for i in range(80)]),
        head("/info", "GET", "X: " + "a" * 20_000),
        b"GET /info HTTP/1.1\nHost: x\n\n",
        b"GET /info HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
        b"GET /info HTTP/1.1\r\nHost: x\rX: y\r\n\r\n",
        b"GET  /info HTTP/1.1\r\n\r\n",
        b"GET /info HTTP/1.0\r\n\r\n",
        b"GET /info\r\n\r\n",
        b"get /info HTTP/1.1\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
        b"\r\nGET /info HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /info HTTP/1.1\r\nHo",
        b"\x16\x03\x01",
    ],
)  # fmt: skip
def test_a_request_that_smuggles_or_is_malformed_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as refused:
        read(data)
    assert refused.value.status in (400, 403, 413, 431)


def test_nothing_at_all_is_no_fault() -> None:
    async def inner() -> bytes:
        reader = asyncio.StreamReader()
        reader.feed_eof()
        return await wire.read_head(reader)

    assert asyncio.run(inner()) == b""


CHUNKED = head("/containers/create", "POST", "Transfer-Encoding: chunked")


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=8))
def test_a_body_in_chunks_is_read_whole(parts: list[bytes]) -> None:
    data = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"
    assert read(CHUNKED + data)[1] == b"".join(parts)


@pytest.mark.parametrize(
    "chunks",
    [b"5;ext=1\r\nhello\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n", b"-1\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n",
     b"5\nhello\r\n0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n", b"ffffff\r\n", b"fffffffffffff\r\n", b"5\r\nhel", b"5\r\nhello\r\n", b""],
)  # fmt: skip
def test_a_chunk_is_well_formed_or_refused(chunks: bytes) -> None:
    with pytest.raises(Refused):
        read(CHUNKED + chunks)


def test_bodies_have_a_bound_in_chunks_too() -> None:
    part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with pytest.raises(Refused) as refused:
        read(CHUNKED + part * 5 + b"0\r\n\r\n")
    assert refused.value.status == 413


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused_and_never_worse(data: bytes) -> None:
    try:
        wire.parse_head(data + b"\r\n\r\n")
    except Refused:
        return


PARTS = st.text("abz09._:@-", min_size=1, max_size=6).filter(lambda p: p not in (".", ".."))


@given(
    st.lists(PARTS, min_size=1, max_size=4), st.dictionaries(st.text("ab", min_size=1), st.text(max_size=5), max_size=3)
)
def test_what_is_passed_on_says_what_was_understood(parts: list[str], query: dict[str, str]) -> None:
    written = wire.request_bytes("GET", "/" + "/".join(parts), query)
    assert written.count(b"\r\n\r\n") == 1 and b"Connection: close" in written
    if all("\0" not in v and "\ud800" <= "\udfff" for v in query.values()):
        request = wire.parse_head(written)
        assert (request.version + request.path, request.query) == ("/" + "/".join(parts), query)
