"""An SMTP server on the loopback through which people of the office send mail.

There is no log-in: whoever may open a connection to this machine's loopback is its user. So a sender is who they say they
are, and must be one of the office's people. A mail is on the disk before it is answered with 250.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable

from aiosmtpd.smtp import SMTP, Envelope, Session

from services.carriers.mail.message import OFFICE_ADDRESS
from services.carriers.mail.names import header_text
from services.carriers.mail.parse import LIMIT, Letter, read_letter
from services.carriers.maildir.spool import Spool
from simulator.carrying import Directory
from simulator.errors import CarrierError, UsageError

_RECIPIENTS = 500


class Listener:
    """`start` listens, on a thread and loop of its own, until `stop`. `people` gives the office's accounts as they are."""

    def __init__(self, spool: Spool, people: Callable[[], Directory]) -> None:
        self._handler = _Handler(spool, people)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen, and return the port (port 0: any that is free).

        Raises UsageError for an address beyond the loopback, CarrierError where the port is taken.
        """
        listening = _bound(host, port)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(loop.create_server(lambda: _Smtp(self._handler, loop), sock=listening))
        self._thread = threading.Thread(target=loop.run_forever, name="officetown-smtp", daemon=True)
        self._loop, self._socket = loop, listening
        self._thread.start()
        return int(listening.getsockname()[1])

    def stop(self) -> None:
        """Stop listening; a mail that was not answered yet is not taken, and its sender's program knows that."""
        loop, thread, listening = self._loop, self._thread, self._socket
        if loop is None or thread is None or listening is None:
            return
        loop.call_soon_threadsafe(_wind_down, loop)
        thread.join()
        listening.close()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        self._loop = self._thread = self._socket = None


class _Smtp(SMTP):
    line_length_limit = 1_000_000
    """Some programs write HTML mails as one line; RFC 5321's 1,000 bytes would turn them away."""

    def __init__(self, handler: _Handler, loop: asyncio.AbstractEventLoop) -> None:
        # A host name is given, or the package asks a name server for it.
        super().__init__(
            handler, data_size_limit=LIMIT, hostname="officetown.invalid", ident="OfficeTown", loop=loop, timeout=300
        )


class _Handler:
    """Answers an SMTP session; the method names are those that aiosmtpd asks for."""

    def __init__(self, spool: Spool, people: Callable[[], Directory]) -> None:
        self._spool = spool
        self._people = people

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        people = self._people()
        if people.by_address(address or "") is None:
            return f"550 5.7.1 {_said(address)} is nobody's address at {_said(people.name)}"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Ok"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        people = self._people()
        if address.casefold() == OFFICE_ADDRESS:
            return "550 5.1.1 This address is not read: write to a person"
        if people.by_address(address) is None:
            return f"550 5.1.1 Nobody at {_said(people.name)} has the address {_said(address)}"
        if len(envelope.rcpt_tos) >= _RECIPIENTS:
            return f"452 4.5.3 At most {_RECIPIENTS} recipients"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        data = content if isinstance(content, bytes) else (content or "").encode("utf-8", "surrogateescape")
        wrong = self._wrong(read_letter(data), envelope)
        if wrong:
            return f"550 5.6.0 {wrong}"
        try:
            self._spool.add(data)
        except OSError as fault:
            return f"451 4.3.0 Not taken in ({_said(fault.strerror or 'disk')}): try again later"
        return "250 2.0.0 Ok: the office has it"

    async def handle_exception(self, error: Exception) -> str:
        """Answer what the package raises on garbage: the connection goes on, nothing was taken in."""
        return "451 4.3.0 Not taken in: this could not be understood"

    def _wrong(self, letter: Letter, envelope: Envelope) -> str:
        """Return why a mail cannot come in as it is, in words that its author's mail program shows; or nothing."""
        people = self._people()
        senders = {address.casefold() for address in letter.senders}
        if len(senders) != 1:
            return "The mail must name one author, in From"
        if senders != {(envelope.mail_from or "").strip().casefold()}:
            return f"It is sent by {_said(envelope.mail_from)} and says that it is from {_said(*senders)}"
        named = {address.casefold() for address in (*letter.to, *letter.cc)}
        blind = [address for address in envelope.rcpt_tos if address.casefold() not in named]
        if blind:
            return f"There are no blind copies at {_said(people.name)}: name {_said(blind[0])} in To or Cc"
        return ""


def _bound(host: str, port: int) -> socket.socket:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise UsageError(f"Mail is taken in on the loopback alone, without log-in: use 127.0.0.1 or ::1, not {host!r}.")
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    # With the protocol named, asyncio switches Nagle's algorithm off, which costs 40 ms a session.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(address), port))
    except (OSError, OverflowError) as fault:
        listening.close()
        raise CarrierError(f"Mail cannot be taken in at {host}:{port} ({fault}). Is the port in use?") from fault
    return listening


def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_soon(loop.stop)


def _said(text: str | None) -> str:
    """Return a text as an SMTP answer can carry it: ASCII, one line, short."""
    return header_text(text or "nobody").encode("ascii", "replace").decode()[:120]
