"""Whether a port is free, and who has it."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from orchestrator.stack import ports


def test_a_port_that_somebody_serves_is_not_free() -> None:
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen()
        port = served.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_served_at_every_address_it_is_not_free_either() -> None:
    with socket.socket() as served:
        served.bind(("0.0.0.0", 0))
        served.listen()
        assert not ports.is_free(served.getsockname()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_who_has_a_port_is_found() -> None:
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen()
        assert ports.holder(served.getsockname()[1]).endswith(f"(process {os.getpid()})")


def test_where_that_cannot_be_seen_nothing_is_claimed(tmp_path: Path) -> None:
    assert ports.holder(80, tmp_path) == ""
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        "  sl  local_address rem_address st\n"
        "   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1\n"
        "   1: 0100007F:0BB9 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000     0        0 4243 1\n"
    )
    assert ports.holder(3000, tmp_path) == "", "nobody's descriptors can be read"
    held = tmp_path / "77" / "fd"
    held.mkdir(parents=True)
    (held / "3").symlink_to("socket:[4242]")
    (held / "4").symlink_to("socket:[4243]")
    (tmp_path / "77" / "comm").write_text("node\n")
    assert ports.holder(3000, tmp_path) == "node (process 77)"
    assert ports.holder(3001, tmp_path) == "", "a connection is no server"
