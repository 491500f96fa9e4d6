"""The office's chat on a Rocket.Chat server (`simulator.carrying.Chat`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx

from services.carriers.rocketchat.client import Rest
from services.carriers.rocketchat.inbound import Inbound
from services.carriers.rocketchat.people import Credentials, People
from services.carriers.rocketchat.posting import Poster
from services.carriers.rocketchat.rooms import Rooms
from simulator.arriving import Polled
from simulator.carrying import BounceOut, Directory, MemberOut, PostOut, RoomOut
from simulator.ports import BlobStore

ROLES = ("user", "bot")


class RocketChat:
    """Shows an office on a Rocket.Chat server and brings in what people write there. Used by one thread at a time.

    `account` is an administrator, the office's own account; `password_of` gives the password of a username; `clock` is
    in seconds since the epoch and `sleep` waits (for a 429, at most `patience` seconds a call). It closes `http`.
    Everything raises `CarrierError` where another try may help. Tokens are kept in memory, and nothing else matters.
    """

    name = "rocketchat"

    def __init__(
        self,
        url: str,
        account: Credentials,
        people: Directory,
        blobs: BlobStore,
        password_of: Callable[[str], str],
        http: httpx.Client,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        patience: float = 60.0,
        message_limit: int = 5_000,
        roles: Sequence[str] = ROLES,
    ) -> None:
        self._http = http
        self.rest = Rest(url, http, clock, sleep, patience)
        self.people = People(self.rest, account, password_of, clock, roles)
        self._rooms = Rooms(self.rest, self.people, people)
        self._poster = Poster(self.rest, self.people, self._rooms, blobs, message_limit)
        self._inbound = Inbound(self.rest, self.people, self._rooms)

    def provision(self, people: Directory) -> None:
        """Make the users of staff that are missing; `people` is the office's directory from now on."""
        self._rooms.directory = people
        self.people.provision(people)

    def open_room(self, room: RoomOut) -> None:
        """Make a room if it is not there, and let its members in."""
        self._rooms.open(room)

    def change_member(self, change: MemberOut) -> None:
        """Let somebody into a room, or out of it."""
        self._rooms.change(change)

    def post(self, key: str, post: PostOut, text: str, again: bool) -> None:
        """Bring a message and its files into its room, once; what a person wrote there gets a tick instead."""
        self._poster.post(post, text, again)

    def refuse(self, bounce: BounceOut) -> None:
        """Show the author of something that came in that it was not taken, and why."""
        self._poster.refuse(bounce)

    def poll(self, cursor: str) -> Polled:
        """Return what people did on the server since `cursor`."""
        return self._inbound.poll(cursor)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
