"""Whether a Mailpit is ready, and whether it really does what is asked of it: for `officetown doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from services.carriers.mail import ids
from services.carriers.mail.message import OFFICE_ADDRESS, address_of, as_bytes, notice
from services.carriers.mail.parse import LIMIT, read_letter
from services.carriers.mailpit.carrier import MailpitMail
from simulator.canonical import sha256
from simulator.carrying import Attached
from simulator.errors import CarrierError, OfficeTownError
from simulator.ports import Blob

Check = tuple[str, bool, str]
"""What was tried, whether it went well, and what was seen or what to do, in plain words."""


def ready_check(carrier: MailpitMail) -> Iterator[Check]:
    """Look without changing anything: both sides answer, and nothing is being thrown away."""
    try:
        yield "mail: SMTP", True, f"{carrier.smtp.host}:{carrier.smtp.port} greets as {carrier.smtp.greet()}"
    except CarrierError as fault:
        yield "mail: SMTP", False, str(fault)
    try:
        info = carrier.api.info()
        carrier.api.search(f"tag:{carrier.tag}")
    except CarrierError as fault:
        yield "mail: API", False, str(fault)
        return
    yield (
        "mail: API",
        True,
        f"{carrier.name}, version {info.get('Version', 'unknown')}, {info.get('Messages', 0)} messages",
    )
    stats = info.get("RuntimeStats")
    deleted = stats.get("MessagesDeleted", 0) if isinstance(stats, dict) else 0
    kept = not deleted
    yield "mail: everything is kept", kept, (
        "nothing was deleted since it started" if kept
        else f"{deleted} messages were deleted since it started: unless somebody did that, set MP_MAX_MESSAGES=0"
    )  # fmt: skip


def live_check(carrier: MailpitMail, now: int, token: str) -> Iterator[Check]:
    """Send a notice with a file to the first person, find it, read it back. `token` makes it this one; it stays there."""
    people = carrier.people
    if not people.accounts:
        yield "mail: send", False, "the office has nobody to write to"
        return
    person = people.accounts[0].person
    data = f"{token}\n".encode()
    text = f"OfficeTown tried whether mail arrives ({token}). Nothing needs to be done."
    file = (Attached("Prüfung.txt", "text/plain", Blob(sha256(data), len(data))), data)
    message = notice(("doctor", token), now, person, "Does mail arrive?", text, people, (file,))
    message["X-Tags"] = carrier.tag
    name = ids.bare(message["Message-ID"])
    try:
        carrier.smtp.deliver(OFFICE_ADDRESS, ((person, address_of(people, person)),), as_bytes(message))
        yield "mail: send", True, f"a mail to {person} was taken"
        found = carrier.find(name, OFFICE_ADDRESS)
        yield "mail: find", len(found) == 1, f"{len(found)} of 1 copies found by Message-ID"
        if not found:
            return
        tagged = any(tag.casefold() == carrier.tag for tag in found[0].tags or ())
        yield "mail: tags", tagged, (
            f"it has the tag {carrier.tag}" if tagged
            else "X-Tags are ignored (MP_TAGS_DISABLE holds x-tags): our own mails will be looked at once more"
        )  # fmt: skip
        letter = read_letter(carrier.api.raw(found[0].id, LIMIT + 1) or b"")
        yield "mail: read back", letter.text == text, "the text came back as it was sent"
        yield "mail: attachment", [(f.name, f.data) for f in letter.files] == [("Prüfung.txt", data)], (
            "the file came back with its name and bytes"
        )  # fmt: skip
        carrier.api.tag(found, carrier.tag)
        unseen = [m.id for m in carrier.api.search(f"!tag:{carrier.tag}") if m.id == found[0].id]
        yield "mail: what was seen is not new", not unseen, "a tagged mail is not found among those without the tag"
    except OfficeTownError as fault:
        yield "mail: live", False, str(fault)
