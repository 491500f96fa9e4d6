"""Sets Baïkal up without its wizard: its settings file, its SQLite database, and the people of an office.

Run where its folders are mounted, before it starts, with what it needs on standard input (a `Setup` as JSON, so that no
password stands among the arguments):

    python -m services.carriers.caldav.baikal ROOT --schema db.sql --distrib Distrib.php < setup.json

`ROOT` holds `config/` and `Specific/`. The schema (`Core/Resources/Db/SQLite/db.sql`) and the version
(`Core/Distrib.php`) are those of the installed Baïkal. Running it again makes what is missing and changes nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import yaml

from services.storage.wholefiles import write_whole
from simulator.carrying import Account, Directory, staff_of
from simulator.errors import CarrierError, UsageError

REALM = "BaikalDAV"
INSTALLED_AT = "/var/www/baikal"
CALENDAR = "default"
_LOCKED = 10.0
"""Seconds to wait for a Baïkal that is writing."""


class Setup(msgspec.Struct, frozen=True):
    """What is needed beside Baïkal's own files. `passwords` are by username; `secret` seeds its encryption key."""

    people: Directory
    passwords: dict[str, str]
    admin_password: str
    secret: str


def provision(
    root: Path,
    schema: Path,
    version: str,
    people: Directory,
    password_of: Callable[[str], str],
    *,
    admin_password: str,
    secret: str,
    installed_at: str = INSTALLED_AT,
) -> tuple[str, ...]:
    """Write settings and database below `root`, and the accounts of an office's staff; return the usernames made now.

    `installed_at` is where Baïkal itself finds `root`.

    Raises:
        UsageError: the schema cannot be read, or a password is empty.
        CarrierError: the database is locked, or is not Baïkal's.
    """
    if not admin_password or not secret:
        raise UsageError("Baïkal needs a password for its administrator and a secret: neither may be empty.")
    database = root / "Specific" / "db" / "db.sqlite"
    for folder in (root / "config", database.parent):
        folder.mkdir(parents=True, exist_ok=True)
    made = _accounts(database, _schema(schema), people, password_of)
    settings = root / "config" / "baikal.yaml"
    if not settings.exists():
        text = _settings(version, people.zone, admin_password, secret, f"{installed_at}/Specific/db/db.sqlite")
        write_whole(settings, text.encode())
    return made


def admit(root: Path, people: Directory, password_of: Callable[[str], str]) -> tuple[str, ...]:
    """Make the accounts that are missing in a Baïkal that is set up below `root`; return their usernames.

    Raises:
        CarrierError: Baïkal has no database there yet (it makes one at its first start), or that is locked or not its own.
    """
    database = root / "Specific" / "db" / "db.sqlite"
    if not database.is_file():
        raise CarrierError(f"Baïkal has no database in {root} yet; it makes one when it is first started.")
    return _accounts(database, "", people, password_of)


def version_in(distrib: Path) -> str:
    """Return the version that an installed Baïkal says it is (`Core/Distrib.php`)."""
    try:
        found = re.search(r"BAIKAL_VERSION[\"']\s*,\s*[\"']([0-9.]+)[\"']", distrib.read_text(encoding="utf-8"))
    except OSError as fault:
        raise UsageError(
            f"{distrib.name} cannot be read ({fault.strerror}): give the path of Core/Distrib.php."
        ) from None
    if found is None:
        raise UsageError(f"{distrib.name} names no BAIKAL_VERSION: give the path of Core/Distrib.php.")
    return found[1]


def hand_over(root: Path, user: int, group: int) -> None:
    """Give `config/` and `Specific/` to the user that the web server runs as: Baïkal writes into both."""
    for folder in (root / "config", root / "Specific"):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, group, follow_symlinks=False)


def _settings(version: str, zone: str, admin_password: str, secret: str, database: str) -> str:
    admin = hashlib.sha256(f"admin:{REALM}:{admin_password}".encode()).hexdigest()
    settings = {
        "system": {
            "configured_version": version, "timezone": zone, "card_enabled": False, "cal_enabled": True,
            "invite_from": "", "dav_auth_type": "Basic", "admin_passwordhash": admin, "failed_access_message": "",
            "auth_realm": REALM, "base_uri": "",
        },
        "database": {
            "encryption_key": hashlib.sha256(f"baikal:{secret}".encode()).hexdigest()[:32], "backend": "sqlite",
            "sqlite_file": database,
        },
    }  # fmt: skip
    return yaml.safe_dump(settings, sort_keys=False)


def _schema(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise UsageError(f"{path.name} cannot be read ({fault.strerror}): give the path of Baïkal's db.sql.") from None


def _accounts(database: Path, statements: str, people: Directory, password_of: Callable[[str], str]) -> tuple[str, ...]:
    try:
        with closing(sqlite3.connect(database, timeout=_LOCKED)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'calendarinstances'").fetchone():
                connection.executescript(statements)
            made = []
            for account in staff_of(people):
                # One transaction a person: whoever is interrupted leaves nobody half made.
                with connection:
                    if _account(connection, account, password_of(account.username)):
                        made.append(account.username)
            return tuple(made)
    except sqlite3.DatabaseError as fault:
        # Never WorkFailed: a database that is locked, or a set-up that is wrong, says nothing about what waits to be delivered.
        raise CarrierError(
            f"Baïkal's database {database.name} is busy, not Baïkal's, or of another version: {fault}."
        ) from None


def _account(connection: sqlite3.Connection, account: Account, password: str) -> bool:
    """Make what is missing of an account; return whether anything was."""
    if not password:
        raise UsageError(f"{account.username} has no password.")
    user, principal = account.username, f"principals/{account.username}"
    before = connection.total_changes
    if not connection.execute("SELECT 1 FROM users WHERE username = ?", (user,)).fetchone():
        # The digest is Baïkal's own way to keep a password, for Basic authentication too.
        digest = hashlib.md5(f"{user}:{REALM}:{password}".encode(), usedforsecurity=False).hexdigest()
        connection.execute("INSERT INTO users (username, digesta1) VALUES (?, ?)", (user, digest))
    if not connection.execute("SELECT 1 FROM principals WHERE uri = ?", (principal,)).fetchone():
        row = (principal, account.address, account.name)
        connection.execute("INSERT INTO principals (uri, email, displayname) VALUES (?, ?, ?)", row)
    held = "SELECT 1 FROM calendarinstances WHERE principaluri = ? AND uri = ?"
    if not connection.execute(held, (principal, CALENDAR)).fetchone():
        made = connection.execute("INSERT INTO calendars (synctoken, components) VALUES (1, 'VEVENT,VTODO')")
        # An empty time zone instead of none breaks the server's free-busy answers.
        connection.execute(
            "INSERT INTO calendarinstances (calendarid, principaluri, access, displayname, uri, timezone, transparent,"
            " share_invitestatus) VALUES (?, ?, 1, ?, ?, NULL, 0, 2)",
            (made.lastrowid, principal, "Office", CALENDAR),
        )
    return connection.total_changes > before


def main(arguments: list[str] | None = None) -> int:
    """Set Baïkal up from the command line; the result is one JSON line."""
    parser = argparse.ArgumentParser(prog="baikal", description="Set Baïkal up without its wizard.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--distrib", type=Path, required=True)
    parser.add_argument("--owner", default="", help="UID:GID of the web server, to hand the files over")
    given = parser.parse_args(arguments)
    try:
        setup = msgspec.json.decode(sys.stdin.buffer.read(), type=Setup)
        made = provision(
            given.root, given.schema, version_in(given.distrib), setup.people, lambda user: setup.passwords.get(user, ""),
            admin_password=setup.admin_password, secret=setup.secret,
        )  # fmt: skip
        if given.owner:
            user, _, group = given.owner.partition(":")
            hand_over(given.root, int(user), int(group or user))
    except (UsageError, CarrierError) as fault:
        print(fault, file=sys.stderr)
        return fault.exit_code
    except (msgspec.MsgspecError, ValueError) as fault:
        print(f"What stands on standard input or in --owner is not what is wanted: {fault}", file=sys.stderr)
        return UsageError.exit_code
    print(msgspec.json.encode({"made": made}).decode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
