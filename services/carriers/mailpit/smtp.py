"""One mail in one SMTP transaction, with all its recipients."""

from __future__ import annotations

import contextlib
import smtplib
from collections.abc import Sequence

import msgspec

from simulator.canonical import clean_name
from simulator.errors import CarrierError, WorkFailed

_OK = (250, 251, 252)
_PERMANENT = range(550, 556)
"""What an item is refused for. Other 5xx codes speak of the connection (syntax, log-in): all mail waits for that."""
_TOO_MANY = 452


class SmtpServer(msgspec.Struct, frozen=True):
    """Where mail is handed in. `timeout` is in seconds and holds for each command."""

    host: str
    port: int
    timeout: float = 30.0

    @property
    def shown(self) -> str:
        """The server's name in a message."""
        return f"the mail server at {self.host}:{self.port}"

    def greet(self) -> str:
        """Return what the server calls itself. Raises CarrierError."""
        try:
            with contextlib.closing(_connect(self)) as session:
                code, answer = session.ehlo()
        except (smtplib.SMTPException, OSError) as fault:
            raise CarrierError(f"{_first(self.shown)} cannot be reached: {_said(fault)}.") from fault
        if code != 250:
            raise CarrierError(f"{_first(self.shown)} answered {code} to EHLO.")
        return _text(answer).split(" ")[0]

    def deliver(self, sender: str, recipients: Sequence[tuple[str, str]], data: bytes) -> None:
        """Hand a message in, for (person, address) pairs.

        Raises WorkFailed where the server refuses the mail, or some of its recipients, for good; those that it takes
        have it then. Raises CarrierError where another attempt may do: the message may have arrived all the same.
        """
        try:
            session = _connect(self)
            try:
                refused = self._transact(session, sender, recipients, data)
                # The mail is there: a connection that breaks at the farewell changes nothing.
                with contextlib.suppress(smtplib.SMTPException, OSError):
                    session.quit()
            finally:
                session.close()
        except (smtplib.SMTPException, OSError) as fault:
            raise CarrierError(f"{_first(self.shown)} did not take a mail: {_said(fault)}.") from fault
        if refused:
            raise WorkFailed(f"{_first(self.shown)} refuses {', '.join(refused)}; the other recipients have the mail.")

    def _transact(
        self, session: smtplib.SMTP, sender: str, recipients: Sequence[tuple[str, str]], data: bytes
    ) -> list[str]:
        session.ehlo_or_helo_if_needed()
        sized = [f"size={len(data)}"] if session.has_extn("size") else []
        self._expect(session.mail(sender, sized), f"a mail from {sender}")
        taken = 0
        refused: list[str] = []
        for person, address in recipients:
            code, answer = session.rcpt(address)
            if code in _OK:
                taken += 1
            elif code == _TOO_MANY and taken:
                # Mailpit takes 100 recipients by default and keeps one copy for all: the headers name the others.
                break
            elif code in _PERMANENT:
                refused.append(f"{person} <{address}> ({code} {_text(answer)})")
            else:
                self._expect((code, answer), f"a mail for {address}")
        if not taken:
            raise WorkFailed(f"{_first(self.shown)} refuses every recipient: {', '.join(refused) or 'there is none'}.")
        self._expect(session.data(data), "a mail")
        return refused

    def _expect(self, answer: tuple[int, bytes], what: str) -> None:
        code, text = answer
        if code in _OK:
            return
        said = f"{_first(self.shown)} answered {code} to {what}: {_text(text)}"
        raise WorkFailed(said) if code in _PERMANENT else CarrierError(said)


def _connect(server: SmtpServer) -> smtplib.SMTP:
    # A name for ourselves is given, or smtplib asks a name server for it.
    return smtplib.SMTP(server.host, server.port, "officetown.invalid", server.timeout)


def _said(fault: Exception) -> str:
    if isinstance(fault, smtplib.SMTPResponseException):
        return f"{fault.smtp_code} {_text(fault.smtp_error)}"
    if isinstance(fault, TimeoutError):
        return "no answer in time"
    return clean_name(str(fault))[:200] or type(fault).__name__


def _text(answer: bytes | str) -> str:
    return clean_name(answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer)[:200]


def _first(text: str) -> str:
    return text[0].upper() + text[1:]
