"""A stand-in for Mailpit: SMTP, and the part of its API that is used, as its sources and its OpenAPI file have it.

One mailbox for everybody, one copy an SMTP transaction, ordered by the `Date` header if asked to; envelope recipients
that no header names become `Bcc`; `X-Tags` become tags. SMTP faults are planned like the HTTP ones, with a `match` on
`smtp:MAIL address`, `smtp:RCPT address` or `smtp:DATA`; `status` is the code and `body` its text.
"""

from __future__ import annotations

import argparse
import asyncio
import email.utils
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from typing import Any, TypeAlias

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.carriers.standins.faults import Fault, HttpStandIn, Request, Response, serve

Headers: TypeAlias = "Message[str, str]"


@dataclass
class Stored:
    """A message as it is kept. `created` is in milliseconds since the epoch."""

    id: str
    raw: bytes
    message: Headers
    created: int
    tags: list[str] = field(default_factory=list)
    read: bool = False

    @property
    def message_id(self) -> str:
        return str(self.message["Message-ID"] or "").strip().strip("<>")


class Mailpit(HttpStandIn):
    """`with Mailpit() as mailpit:` serves both; `smtp_port` is where mail is handed in."""

    name = "Mailpit"

    def __init__(
        self, by_date: bool = True, max_messages: int = 0, max_recipients: int = 100, x_tags: bool = True,
        keeps_tags: bool = True,
        ignore_duplicates: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.by_date = by_date
        self.max_messages = max_messages
        self.max_recipients = max_recipients
        self.x_tags = x_tags
        self.keeps_tags = keeps_tags
        self.messages: dict[str, Stored] = {}
        self.ignore_duplicates = ignore_duplicates
        self.ignored = threading.Event()
        """Set once a mail was ignored because one of its name was there."""
        self.deleted = 0
        self._count = 0
        self._smtp = _SmtpThread(self)

    @property
    def smtp_port(self) -> int:
        """Where SMTP is spoken; stays the same over `stop` and `start`."""
        return self._smtp.port

    def start(self, host: str = "127.0.0.1", port: int | None = None, smtp_port: int | None = None) -> None:
        """Serve; what it holds was kept over a stop."""
        super().start(host, port)
        self._smtp.start(host, smtp_port)

    def stop(self) -> None:
        """Stop both: connections are refused from now on."""
        self._smtp.stop()
        super().stop()

    def __enter__(self) -> Mailpit:
        self.start()
        return self

    # -- the mailbox --------------------------------------------------------------------------------------------------

    def store(self, sender: str, recipients: list[str], data: bytes) -> str:
        """Keep a message as Mailpit does; return its database id."""
        message: Headers = BytesParser().parsebytes(data, headersonly=True)
        added = b"Received: from client\r\n        by stand-in (Mailpit) with SMTP\r\n"
        added = b"Return-Path: <" + sender.encode() + b">\r\n" + added
        with self.lock:
            self._count += 1
            name = f"standin{self._count:015d}"
            if not message["Message-ID"]:
                added += f"Message-ID: <{name}@mailpit>\r\n".encode()
            elif self.ignore_duplicates and self.copies(str(message["Message-ID"]).strip().strip("<>")):
                self.ignored.set()
                return ""
            named = {a.lower() for h in ("To", "Cc", "Bcc") for _, a in _addresses(message, h)}
            blind = [r for r in recipients if r.lower() not in named]
            if blind:
                added += f"Bcc: {', '.join(blind)}\r\n".encode()
            raw = added + data
            message = BytesParser().parsebytes(raw, headersonly=True)
            stored = Stored(name, raw, message, _created(message) if self.by_date else int(time.time() * 1000))
            if self.x_tags:
                stored.tags = sorted({_clean_tag(t) for t in str(message["X-Tags"] or "").split(",")} - {""})
            self.messages[name] = stored
            self._prune()
        return name

    def _prune(self) -> None:
        if self.max_messages:
            for old in self._newest_first()[self.max_messages :]:
                del self.messages[old.id]
                self.deleted += 1

    def _newest_first(self) -> list[Stored]:
        return sorted(self.messages.values(), key=lambda m: m.created, reverse=True)

    def copies(self, message_id: str) -> int:
        """How many messages have a Message-ID."""
        with self.lock:
            return sum(stored.message_id == message_id for stored in self.messages.values())

    def state(self) -> Any:
        """Return every message: its names, addresses, subject, tags and size."""
        return {"messages": [self._summary(stored) for stored in self._newest_first()], "deleted": self.deleted}

    # -- the API ------------------------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Response:
        """Answer as Mailpit does: errors are plain text with status 400 or 404."""
        match = re.fullmatch(r"/api/v1/message/([^/]+)(/raw)?", request.path)
        if request.path in ("/livez", "/readyz"):
            return _text("ok")
        if request.method == "GET" and request.path == "/api/v1/info":
            return Response(body=self._info())
        if request.method == "GET" and request.path == "/api/v1/messages":
            return self._list(request, self._newest_first())
        if request.method == "GET" and request.path == "/api/v1/search":
            query = request.query.get("query", "").strip()
            return self._list(request, self._search(query)) if query else _text("Error: no search query", 400)
        if request.method == "PUT" and request.path == "/api/v1/tags":
            return self._set_tags(request.json())
        if request.method == "GET" and match:
            stored = self.messages.get(match[1])
            if stored is None:
                return _text("404 page not found", 404)
            if match[2]:
                return Response(body=stored.raw, headers={"Content-Type": "text/plain; charset=utf-8"})
            stored.read = True
            return Response(body=_detail(stored))
        return _text("404 page not found", 404)

    def _list(self, request: Request, found: list[Stored]) -> Response:
        start, limit = int(request.query.get("start", "0")), int(request.query.get("limit", "50"))
        return Response(
            body={
                "total": len(self.messages),
                "unread": sum(not m.read for m in self.messages.values()),
                "messages_count": len(found),
                "messages_unread": sum(not m.read for m in found),
                "start": start,
                "tags": sorted({tag for m in self.messages.values() for tag in m.tags}),
                "messages": [self._summary(m) for m in found[start : start + limit]],
            }
        )

    def _search(self, query: str) -> list[Stored]:
        found = self._newest_first()
        for term in re.findall(r'[^\s"]+|"[^"]*"', query):
            excluded = len(term) > 1 and term[0] in "-!"
            wanted = term.lstrip("-!").lower() if excluded else term.lower()
            found = [m for m in found if _matches(m, wanted) != excluded]
        return found

    def _set_tags(self, body: Any) -> Response:
        for name in body["IDs"]:
            if name in self.messages and self.keeps_tags:
                self.messages[name].tags = sorted({_clean_tag(tag) for tag in body["Tags"]} - {""})
        return _text("ok")

    def _summary(self, stored: Stored) -> dict[str, Any]:
        message = stored.message
        return {
            "ID": stored.id,
            "MessageID": stored.message_id,
            "Read": stored.read,
            "From": _first(message, "From"),
            **{name: _people(message, header) for name, header in _LISTS.items()},
            "Subject": _decoded(str(message["Subject"] or "")),
            "Created": _rfc3339(stored.created),
            "Tags": stored.tags,
            "Size": len(stored.raw),
            "Attachments": len(_attachments(stored.raw)),
            "Snippet": "",
            "Username": "",
        }

    def _info(self) -> dict[str, Any]:
        return {
            "Version": "stand-in",
            "LatestVersion": "",
            "Database": "memory",
            "DatabaseSize": sum(len(m.raw) for m in self.messages.values()),
            "Messages": len(self.messages),
            "Unread": sum(not m.read for m in self.messages.values()),
            "Tags": {tag: 1 for m in self.messages.values() for tag in m.tags},
            "RuntimeStats": {"MessagesDeleted": self.deleted, "SMTPAccepted": self._count},
        }


_LISTS = {"To": "To", "Cc": "Cc", "Bcc": "Bcc", "ReplyTo": "Reply-To"}


def _matches(stored: Stored, term: str) -> bool:
    kind, colon, value = term.partition(":")
    if colon and kind == "tag":
        return value in (tag.lower() for tag in stored.tags)
    if colon and kind == "message-id":
        return value in stored.message_id.lower()
    if colon and kind in ("from", "to", "cc", "bcc", "subject"):
        return value in _decoded(str(stored.message[kind] or "")).lower()
    if term == "is:unread":
        return not stored.read
    return term in stored.raw.decode("utf-8", "replace").lower()


def _detail(stored: Stored) -> dict[str, Any]:
    message = stored.message
    return {
        "ID": stored.id,
        "MessageID": stored.message_id,
        "From": _first(message, "From"),
        **{name: _people(message, header) for name, header in _LISTS.items()},
        "ReturnPath": str(message["Return-Path"] or "").strip("<>"),
        "Subject": _decoded(str(message["Subject"] or "")),
        "Date": _rfc3339(stored.created),
        "Tags": stored.tags,
        "Size": len(stored.raw),
        "Attachments": _attachments(stored.raw),
        "Inline": [],
    }


def _attachments(raw: bytes) -> list[dict[str, Any]]:
    parts = list(BytesParser().parsebytes(raw).walk())
    return [
        {
            "PartID": str(number),
            "FileName": part.get_filename() or "",
            "ContentType": part.get_content_type(),
            "ContentID": "",
            "Size": len(part.get_payload(decode=True) or b""),
        }
        for number, part in enumerate(parts)
        if part.get_filename()
    ]


def _created(message: Headers) -> int:
    try:
        return int(email.utils.parsedate_to_datetime(str(message["Date"])).timestamp() * 1000)
    except (TypeError, ValueError):
        return int(time.time() * 1000)


def _rfc3339(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000)) + f".{milliseconds % 1000:03d}Z"


def _addresses(message: Headers, header: str) -> list[tuple[str, str]]:
    return [pair for pair in email.utils.getaddresses([str(v) for v in message.get_all(header, [])]) if pair[1]]


def _people(message: Headers, header: str) -> list[dict[str, str]]:
    return [{"Name": _decoded(name), "Address": address} for name, address in _addresses(message, header)]


def _first(message: Headers, header: str) -> dict[str, str]:
    return next(iter(_people(message, header)), {"Name": "", "Address": ""})


def _decoded(value: str) -> str:
    try:
        return str(make_header(decode_header(value)))
    except (ValueError, LookupError):
        return value


def _clean_tag(tag: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[^a-zA-Z0-9\- _.@]", " ", tag)).strip()


def _text(text: str, status: int = 200) -> Response:
    return Response(status, text.encode(), {"Content-Type": "text/plain"})


class _LongLines(SMTP):
    line_length_limit = 64 * 1024 * 1024
    """Mailpit has no limit on a line's length."""


class _SmtpThread:
    """aiosmtpd on a loop of its own; one session handler for all connections."""

    def __init__(self, mailpit: Mailpit) -> None:
        self._mailpit = mailpit
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self, host: str, port: int | None) -> None:
        # With the protocol named, asyncio switches Nagle's algorithm off, which costs 40 ms a session.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, self.port if port is None else port))
        self.port = listening.getsockname()[1]
        loop = asyncio.new_event_loop()
        handler = _Handler(self._mailpit)
        made = loop.create_server(
            lambda: _LongLines(handler, hostname="mailpit", ident="Mailpit ESMTP", loop=loop, data_size_limit=0),
            sock=listening,
        )
        loop.run_until_complete(made)
        self._loop = loop
        self._thread = threading.Thread(target=loop.run_forever, daemon=True)
        self._thread.start()
        self._listening = listening

    def stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(self._cancel, loop)
        thread.join()
        self._listening.close()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        self._loop = self._thread = None

    def _cancel(self, loop: asyncio.AbstractEventLoop) -> None:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.call_soon(loop.stop)


class _Handler:
    def __init__(self, mailpit: Mailpit) -> None:
        self._mailpit = mailpit
        self._storing: set[asyncio.Future[str]] = set()

    async def handle_MAIL(  # noqa: N802 - the names aiosmtpd asks for
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        wrong = await self._fault(server, f"smtp:MAIL {address}")
        if wrong is None:
            envelope.mail_from = address
        return wrong or "250 2.1.0 Ok"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        wrong = await self._fault(server, f"smtp:RCPT {address}")
        if wrong is not None:
            return wrong
        if len(envelope.rcpt_tos) >= self._mailpit.max_recipients:
            return "452 4.5.3 Too many recipients"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        fault = self._mailpit.faults.take("smtp:DATA")
        if fault is not None and fault.kind in ("status", "drop"):
            return await self._happen(server, fault) or "451 not now"
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        storing = asyncio.ensure_future(
            self._store(envelope.mail_from or "", list(envelope.rcpt_tos), content, fault.seconds if fault else 0.0)
        )
        self._storing.add(storing)
        # A client that hangs up does not keep the server from storing what it was given.
        name = await asyncio.shield(storing)
        if fault is not None and fault.kind == "drop_after":
            _abort(server)
        return f"250 2.0.0 Ok: queued as {name}"

    async def _store(self, sender: str, recipients: list[str], content: bytes, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return self._mailpit.store(sender, recipients, content)

    async def _fault(self, server: SMTP, stage: str) -> str | None:
        fault = self._mailpit.faults.take(stage)
        return None if fault is None else await self._happen(server, fault)

    async def _happen(self, server: SMTP, fault: Fault) -> str | None:
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return None
        if fault.kind == "status":
            return f"{fault.status} {fault.body}"
        _abort(server)
        return "421 gone"


def _abort(server: SMTP) -> None:
    transport = server.transport
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()


class _Standing(Mailpit):
    """For `python -m`: SMTP beside HTTP, at 1025 or `--smtp-port`."""

    def __init__(self, smtp_port: int) -> None:
        super().__init__()
        self._at = smtp_port

    def start(self, host: str = "127.0.0.1", port: int | None = None, smtp_port: int | None = None) -> None:
        super().start(host, port, self._at)


def main() -> None:
    """Serve until the process is ended: `--host`, `--port` for the API, `--smtp-port`."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--smtp-port", type=int, default=1025)
    options, rest = parser.parse_known_args()
    serve(_Standing(options.smtp_port), rest, 8025)


if __name__ == "__main__":
    main()
