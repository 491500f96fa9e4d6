"""`.env` is made once, whole, for its owner alone, and never changed."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from orchestrator.stack import secretsfile
from orchestrator.stack.ports import choose
from orchestrator.stack.stack import Machine
from simulator.errors import InfrastructureError, StorageError, UsageError
from tests.stack.playing import Played


def make(path: Path, free: tuple[int, ...] = tuple(range(1, 65536))) -> tuple[dict[str, str], tuple[str, ...]]:
    return secretsfile.complete(
        path, Machine(Played()).secret, choose(lambda port: port in free), {"OFFICETOWN_ENGINE_SOCKET": "/s"}
    )


def test_it_is_made_with_a_secret_for_each_and_the_usual_ports(tmp_path: Path) -> None:
    known, added = make(tmp_path / ".env")
    assert secretsfile.read(tmp_path / ".env") == known and set(added) == set(known)
    secrets = [known[name] for name in secretsfile.SECRETS]
    assert len(set(secrets)) == len(secrets) and all(re.fullmatch("[0-9a-f]{48}", s) for s in secrets)
    assert known["OFFICETOWN_CHAT_PORT"] == "3000" and known["OFFICETOWN_ENGINE_SOCKET"] == "/s"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == [".env"]


def test_made_again_it_is_the_same(tmp_path: Path) -> None:
    make(tmp_path / ".env")
    before = (tmp_path / ".env").read_bytes()
    assert make(tmp_path / ".env", free=())[1] == ()
    assert (tmp_path / ".env").read_bytes() == before


def test_what_somebody_wrote_stays_and_what_is_missing_is_added(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        "# mine\nOFFICETOWN_MODEL_URL=http://localhost:8000/v1\nexport POSTGRES_PASSWORD='kept one'\nOFFICETOWN_CHAT_PORT=4000"
    )
    known, added = make(path)
    assert known["POSTGRES_PASSWORD"] == "kept one" and known["OFFICETOWN_CHAT_PORT"] == "4000"
    assert "POSTGRES_PASSWORD" not in added and "CHAT_ADMIN_PASSWORD" in added
    text = path.read_text()
    assert text.startswith(
        "# mine\nOFFICETOWN_MODEL_URL=http://localhost:8000/v1\nexport POSTGRES_PASSWORD='kept one'\nOFFICETOWN_CHAT_PORT=4000\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_taken_port_is_passed_over_and_none_is_given_twice(tmp_path: Path) -> None:
    known, _ = make(tmp_path / ".env", free=(8321, 3001, 8025, 1026, 8081))
    assert [known[name] for name in secretsfile.PORTS] == ["8321", "3001", "8025", "1026", "8081"]
    chosen = choose(lambda port: True)
    assert (chosen(10), chosen(10)) == (10, 11)


def test_where_no_port_is_free_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="No port from 8321 to 8370 is free"):
        make(tmp_path / ".env", free=())
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("OFFICETOWN_CHAT_PORT=0", "OFFICETOWN_CHAT_PORT is '0'"), ("OFFICETOWN_CHAT_PORT=http", "'http'"), ("OFFICETOWN_CHAT_PORT=٣", "port between"),
     ("OFFICETOWN_CHAT_PORT=70000", "70000"), ("OFFICETOWN_CHAT_PORT=9\nOFFICETOWN_MAIL_PORT=9", "another port is the same"),
     ("just words", "line 1: write NAME=VALUE"), ("A=1\n=2", "line 2")],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_with_its_fault_and_left_alone(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / ".env"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(words)):
        make(path)
    assert path.read_text() == text


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        make(tmp_path / ".env")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        make(tmp_path / "nowhere" / ".env")
