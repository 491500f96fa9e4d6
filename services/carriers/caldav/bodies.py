"""The bodies of CalDAV requests, and its multi-status answers (RFC 4791, 4918, 6578)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit
from xml.etree.ElementTree import Element  # noqa: S405 - the type alone; parsing is defusedxml's
from xml.sax.saxutils import escape

import defusedxml.ElementTree  # type: ignore[import-untyped]  # ships no type information
import msgspec
from defusedxml import DefusedXmlException

DAV, CALDAV = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
_SPACES = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    "|&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|[xX]0*(?:[0-8b-cB-CeEfF]|1[0-9a-fA-F]));"
)


class BadXml(Exception):
    """An answer that is no well-formed XML, or one that defines entities."""


class Answer(msgspec.Struct, frozen=True):
    """What a multi-status answer says of one resource. `path` is decoded and starts with a slash; `status` 200 where only
    properties have one. Texts are empty where the property is absent."""

    path: str
    status: int
    etag: str = ""
    data: str | None = None
    token: str = ""
    name: str = ""
    calendar: bool = False


class Answers(msgspec.Struct, frozen=True):
    """A multi-status answer; `token` is that of the whole collection."""

    answers: tuple[Answer, ...]
    token: str = ""


def listing() -> str:
    """PROPFIND: what lies in a person's home."""
    return f"{_HEAD}<d:propfind {_SPACES}><d:prop><d:resourcetype/><d:displayname/></d:prop></d:propfind>"


def new_calendar(name: str) -> str:
    """MKCALENDAR: a calendar of events."""
    return (
        f"{_HEAD}<c:mkcalendar {_SPACES}><d:set><d:prop><d:displayname>{escape(name)}</d:displayname>"
        '<c:supported-calendar-component-set><c:comp name="VEVENT"/></c:supported-calendar-component-set>'
        "</d:prop></d:set></c:mkcalendar>"
    )


def changes_since(token: str) -> str:
    """REPORT sync-collection: names of what changed since a token; everything without one."""
    return (
        f"{_HEAD}<d:sync-collection {_SPACES}><d:sync-token>{escape(token)}</d:sync-token>"
        "<d:sync-level>1</d:sync-level><d:prop><d:getetag/></d:prop></d:sync-collection>"
    )


def these(paths: Iterable[str]) -> str:
    """REPORT calendar-multiget: the events at these (decoded) paths."""
    hrefs = "".join(f"<d:href>{escape(quoted(path))}</d:href>" for path in paths)
    return (
        f"{_HEAD}<c:calendar-multiget {_SPACES}><d:prop><d:getetag/><c:calendar-data/></d:prop>{hrefs}"
        "</c:calendar-multiget>"
    )


def with_uid(uid: str) -> str:
    """REPORT calendar-query: the events with this UID."""
    return (
        f"{_HEAD}<c:calendar-query {_SPACES}><d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter>"
        '<c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"><c:prop-filter name="UID">'
        f'<c:text-match collation="i;octet">{escape(uid)}</c:text-match></c:prop-filter></c:comp-filter></c:comp-filter>'
        "</c:filter></c:calendar-query>"
    )


def read(body: bytes) -> Answers:
    """Read a multi-status answer.

    Raises:
        BadXml: it is none. Characters that XML knows no way to write are dropped first: servers pass them on.
    """
    text = _FORBIDDEN.sub("", body.decode("utf-8", "replace"))
    text = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff"))
    try:
        root: Element = defusedxml.ElementTree.fromstring(text, forbid_dtd=True)
    except (defusedxml.ElementTree.ParseError, DefusedXmlException, ValueError) as fault:
        raise BadXml(type(fault).__name__) from None
    if root.tag != f"{DAV}multistatus":
        raise BadXml(f"it is no multi-status answer but {root.tag[:60]}")
    answers = tuple(_answer(element) for element in root.iter(f"{DAV}response"))
    return Answers(answers, (root.findtext(f"{DAV}sync-token") or "").strip())


def _answer(element: Element) -> Answer:
    path = decoded(element.findtext(f"{DAV}href") or "")
    whole = _status(element.findtext(f"{DAV}status"))
    properties: dict[str, Element] = {}
    found = False
    for group in element.findall(f"{DAV}propstat"):
        if _status(group.findtext(f"{DAV}status")) == 200:
            found = True
            for container in group.findall(f"{DAV}prop"):
                properties.update({child.tag: child for child in container})
    kind = properties.get(f"{DAV}resourcetype")
    data = properties.get(f"{CALDAV}calendar-data")
    return Answer(
        path, whole or (200 if found else 404), _text(properties, f"{DAV}getetag"),
        None if data is None else data.text or "", _text(properties, f"{DAV}sync-token"),
        _text(properties, f"{DAV}displayname"), kind is not None and kind.find(f"{CALDAV}calendar") is not None,
    )  # fmt: skip


def _text(properties: dict[str, Element], name: str) -> str:
    element = properties.get(name)
    return "" if element is None else (element.text or "").strip()


def _status(line: str | None) -> int:
    parts = (line or "").split()
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


def quoted(path: str) -> str:
    """Return a decoded path as it stands in a request."""
    return quote(path, safe="/@:!$&'()*+,;=~")


def decoded(href: str) -> str:
    """Return the decoded path of an address as a server gives it, whole or absolute."""
    try:
        return unquote(urlsplit(href.strip()).path)
    except ValueError:
        return ""
