"""People as users of the server: made where they are missing, logged in with a known password, tokens kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from services.carriers.rocketchat.client import Login, Refused, Rest
from simulator.carrying import Account, Directory, staff_of
from simulator.errors import CarrierError

_PAGE = 100
_PAUSE = 60.0
"""Seconds for which a refused password is not tried again: servers lock out who insists."""
T = TypeVar("T")


class Credentials(msgspec.Struct, frozen=True):
    """The office's account on the server: an administrator, whose name stands beside what the office itself says."""

    username: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials({self.username!r}, ...)"


class WrongPassword(CarrierError):
    """An account does not take the password that the office has for it."""


class People:
    """Logs in the office's account and its staff. A token that the server no longer takes is fetched anew, once.

    `roles` are what a new user gets. `bot` beside `user` lifts the server's limits of 5 messages a second and of calls a
    minute, and marks simulated colleagues as what they are.
    """

    def __init__(
        self,
        rest: Rest,
        office: Credentials,
        password_of: Callable[[str], str],
        clock: Callable[[], float],
        roles: Sequence[str],
    ) -> None:
        self._rest = rest
        self._office = office
        self._password_of = password_of
        self._clock = clock
        self._roles = tuple(roles)
        self._logins: dict[str, Login] = {}
        self._ids: dict[str, str] = {}
        self._refused: dict[str, float] = {}

    @property
    def office_name(self) -> str:
        """The username of the office's account."""
        return self._office.username

    def as_office(self, work: Callable[[Login], T]) -> T:
        """Do something as the office's account."""
        return self._with(self._office.username, lambda: self._office.password, work)

    def as_person(self, account: Account, work: Callable[[Login], T]) -> T:
        """Do something as a member of staff, whose user is made if it is not there."""
        name = account.username
        try:
            return self._with(name, lambda: self._password_of(name), work)
        except WrongPassword:
            if self._lookup(name):
                raise
        self._create(account)
        self._refused.pop(name, None)
        return self._with(name, lambda: self._password_of(name), work)

    def _with(self, username: str, password: Callable[[], str], work: Callable[[Login], T]) -> T:
        login = self._logins.get(username)
        if login is not None:
            try:
                return work(login)
            except Refused as refused:
                if refused.status != 401:
                    raise
                del self._logins[username]
        return work(self._log_in(username, password()))

    def _log_in(self, username: str, password: str) -> Login:
        wrong = (
            f"{self._rest.name}: the account {username!r} does not take the office's password, is deactivated or wants "
            "a second factor: set its password back, or remove the account and provision again"
        )
        if self._clock() < self._refused.get(username, 0.0):
            raise WrongPassword(wrong)
        try:
            answer = self._rest.post("login", None, {"user": username, "password": password})
        except Refused as refused:
            if refused.status in (400, 401, 403):
                self._refused[username] = self._clock() + _PAUSE
                raise WrongPassword(f"{wrong} ({refused.reason})") from refused
            raise
        data = answer.get("data")
        if not isinstance(data, dict) or not isinstance(data.get("authToken"), str):
            raise CarrierError(f"{self._rest.name}: login answered without a token: is this a Rocket.Chat server?")
        login = Login(str(data.get("userId")), data["authToken"])
        self._refused.pop(username, None)
        self._logins[username] = login
        self._ids[username] = login.user_id
        return login

    def provision(self, people: Directory) -> None:
        """Make the users that are missing, and see that those that exist are the office's.

        Raises CarrierError that names every account that is not; the others are made all the same.
        """
        existing = {str(user.get("username")).casefold(): user for user in self._users()}
        foreign: list[str] = []
        for account in staff_of(people):
            user = existing.get(account.username)
            if user is None:
                self._create(account)
                continue
            self._ids[account.username] = str(user.get("_id"))
            if account.username not in self._logins:
                try:
                    self._log_in(account.username, self._password_of(account.username))
                except WrongPassword as error:
                    foreign.append(str(error))
        if foreign:
            raise CarrierError("; ".join(foreign))

    def _create(self, account: Account) -> None:
        body = {
            "username": account.username,
            "name": account.name,
            "email": account.address,
            "password": self._password_of(account.username),
            "verified": True,
            "joinDefaultChannels": False,
            "requirePasswordChange": False,
            "sendWelcomeEmail": False,
            "roles": list(self._roles),
        }
        try:
            answer = self.as_office(lambda login: self._rest.post("users.create", login, body))
        except Refused as refused:
            if refused.says("error-field-unavailable", "already in use") and self._lookup(account.username):
                return  # made by an attempt whose answer was lost
            raise CarrierError(f"{self._rest.name}: {account.username!r} could not be made: {refused}") from refused
        user = answer.get("user")
        if isinstance(user, dict) and isinstance(user.get("_id"), str):
            self._ids[account.username] = user["_id"]

    def user_id(self, account: Account) -> str:
        """Return a member of staff's id on the server; their user is made if it is not there."""
        known = self._ids.get(account.username) or self._lookup(account.username)
        if not known:
            self._create(account)
            known = self._ids.get(account.username) or self._lookup(account.username)
        if not known:
            raise CarrierError(f"{self._rest.name}: the user {account.username!r} was made and is not found")
        return known

    def _lookup(self, username: str) -> str:
        try:
            answer = self.as_office(lambda login: self._rest.get("users.info", login, {"username": username}))
        except Refused as refused:
            if refused.status in (400, 404):
                return ""
            raise
        user = answer.get("user")
        found = user.get("_id") if isinstance(user, dict) else None
        if isinstance(found, str):
            self._ids[username] = found
            return found
        return ""

    def _users(self) -> list[dict[str, Any]]:
        return self.pages("users.list", "users")

    def pages(self, path: str, field: str, **params: str) -> list[dict[str, Any]]:
        """Return all entries of a list that comes in pages, as the office's account sees them."""
        found: list[dict[str, Any]] = []
        offset = 0
        while True:
            asked: dict[str, str | int] = {**params, "count": _PAGE, "offset": offset}
            page = self.as_office(partial(self._rest.get, path, params=asked))
            entries = page.get(field)
            if not isinstance(entries, list) or not entries:
                return found
            found.extend(entry for entry in entries if isinstance(entry, dict))
            offset += len(entries)
            total = page.get("total")
            if not isinstance(total, int) or offset >= total:
                return found
