"""No test leaves the machine, and one that tries is told so."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.guard import NetworkGuard, RealNetworkCall, is_local

OUTSIDE = "192.0.2.1"  # RFC 5737: an address for documentation, which answers nobody


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on the loopback that accepts one caller and says `hello`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"hello")

        thread = threading.Thread(target=greet)
        thread.start()
        yield port
        thread.join(timeout=60)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "", None, b"127.0.0.1"])
def test_the_loopback_is_local(host: object) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", [OUTSIDE, "10.0.0.1", "2001:db8::1", "example.com", "localhost.example.com", b"a.com"])
def test_everything_else_is_not(host: object) -> None:
    assert not is_local(host)


def test_a_server_on_the_loopback_may_be_called(listener: int) -> None:
    with socket.create_connection(("localhost", listener), timeout=5) as caller:
        assert caller.recv(5) == b"hello"


def test_a_connection_to_the_outside_is_refused_before_it_is_made(network_guard: NetworkGuard) -> None:
    with network_guard.expected() as seen, socket.socket() as caller, pytest.raises(RealNetworkCall, match=OUTSIDE):
        caller.connect((OUTSIDE, 443))
    assert seen == [f"socket.connect '{OUTSIDE}'"]


def test_a_name_is_refused_before_it_is_looked_up(network_guard: NetworkGuard) -> None:
    with network_guard.expected(), pytest.raises(RealNetworkCall, match="example.com"):
        socket.getaddrinfo("example.com", 443)


def test_datagrams_are_refused_too(network_guard: NetworkGuard) -> None:
    with (
        network_guard.expected(),
        socket.socket(type=socket.SOCK_DGRAM) as sender,
        pytest.raises(RealNetworkCall),
    ):
        sender.sendto(b"?", (OUTSIDE, 53))


def test_asynchronous_code_is_refused_too(network_guard: NetworkGuard) -> None:
    with network_guard.expected(), pytest.raises(RealNetworkCall):
        asyncio.run(asyncio.wait_for(asyncio.open_connection(OUTSIDE, 443), 5))


def test_the_http_client_is_refused_too(network_guard: NetworkGuard) -> None:
    with network_guard.expected(), httpx.Client(trust_env=False) as client, pytest.raises(RealNetworkCall):
        client.get("http://example.com/")


def test_an_attempt_whose_error_was_swallowed_is_remembered(network_guard: NetworkGuard) -> None:
    with network_guard.expected() as seen:
        with contextlib.suppress(RuntimeError):
            socket.getaddrinfo("example.com", 443)
        assert network_guard.attempts == ["socket.getaddrinfo 'example.com'"]
    assert seen == ["socket.getaddrinfo 'example.com'"]
    assert network_guard.attempts == []
