"""People's accounts at the servers that show an office: their names, addresses and passwords (DESIGN 9)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from simulator.carrying import Directory
from simulator.errors import StorageError


def password_of(secret: str) -> Callable[[str], str]:
    """Return what tells a person's password: made from one secret, so that nothing has to be kept for each of them."""

    def password(username: str) -> str:
        digest = hmac.new(secret.encode(), f"officetown:{username}".encode(), hashlib.sha256).digest()
        return base64.b32encode(digest[:15]).decode().casefold()

    return password


def secret_of(folder: Path, given: str) -> str:
    """Return the secret that is given, or the one kept in `folder`; it is made there, for its owner alone, if need be."""
    if given:
        return given
    path = folder / "secret"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_text(encoding="ascii").strip()
        with os.fdopen(handle, "w") as file:
            made = secrets.token_urlsafe(24)
            file.write(made)
        return made
    except OSError as error:
        raise StorageError(f"{path} cannot be made or read ({error.strerror}).") from error


def table(people: Directory, password: Callable[[str], str]) -> list[tuple[str, str, str, str]]:
    """Return (name, username, address, password) of everybody; clients' contacts have a mail address alone."""
    return [
        (a.name, a.username if a.staff else "", a.address, password(a.username) if a.staff else "")
        for a in people.accounts
    ]
