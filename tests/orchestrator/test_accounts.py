"""People's accounts at the servers that show an office: one secret, told to nobody who may not read it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.accounts import password_of, secret_of
from simulator.errors import StorageError
from tests.orchestrator.support import Desk


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = secret_of(tmp_path / "carriers", "")
    assert len(first) >= 32 and secret_of(tmp_path / "carriers", "") == first
    assert stat.S_IMODE((tmp_path / "carriers" / "secret").stat().st_mode) == 0o600
    assert secret_of(tmp_path / "other", "") != first
    assert secret_of(tmp_path / "third", "given") == "given" and not (tmp_path / "third").exists()


def test_a_password_follows_from_the_secret_and_the_name_alone() -> None:
    one, other = password_of("a"), password_of("b")
    assert one("elena") == password_of("a")("elena") != one("aisha") != other("aisha")
    assert one("elena").isalnum() and len(one("elena")) == 24


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be made or read"):
        secret_of(tmp_path / "file" / "carriers", "")


def test_accounts_lists_everybody_and_clients_have_an_address_alone(copied: Desk) -> None:
    said = copied("accounts", "Juniper", "--json")
    people = said.result["accounts"]
    assert len({p["address"] for p in people}) == len(people) >= 12
    staff = [p for p in people if p["username"]]
    clients = [p for p in people if not p["username"]]
    assert staff and clients and all(p["password"] for p in staff) and not any(p["password"] for p in clients)
    assert copied("accounts", "Juniper", "--json").result == said.result
