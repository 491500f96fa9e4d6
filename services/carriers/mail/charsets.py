"""Bytes to text whatever they say they are: a charset is a claim, and a lie is decoded as well as it can be."""

from __future__ import annotations

import base64
import binascii
import codecs
import re

_NAME = re.compile(r"[A-Za-z0-9._:-]{1,40}")
_KNOWN = re.compile(
    r"(ascii|utf-8(-sig)?|utf-16(-[lb]e)?|utf-32(-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rut]|mac-?[a-z]+|gb2312|gbk|gb18030|hz"
    r"|big5(hkscs)?|shift_jis(_2004|x0213)?|euc_(jp|jis_2004|jisx0213|kr)|iso2022_(jp(_[a-z0-9]+)?|kr)|johab|tis-620|ptcp154)"
)
"""Charsets of mail. Python's other codecs are no charsets (`unicode_escape`), or slow on purpose (`idna`, `punycode`)."""
_WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]{0,20000})\?=")
_BETWEEN = re.compile(r"(\?=)[ \t\r\n]+(=\?)")
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))


def decode_text(data: bytes, charset: str) -> str:
    """Return bytes as text, in the charset they claim, else in UTF-8, else in Windows' Latin."""
    for name in (charset, "utf-8"):
        codec = _codec(name)
        if codec:
            try:
                return data.decode(codec)
            except UnicodeError:
                continue
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    # Mostly sound UTF-8 with a flaw reads better with the flaw marked than as Latin throughout.
    repaired = data.decode("utf-8", "replace")
    return repaired if repaired.count("\ufffd") * 20 < len(repaired) else data.decode("cp1252", "replace")


def decode_base64(data: bytes) -> tuple[bytes, bool]:
    """Return what base64 holds and whether it was sound; of broken base64, what can be read."""
    signs = data.translate(None, _NOT_BASE64)
    rest = len(signs) % 4
    padded = signs[:-1] if rest == 1 else signs + b"=" * (-len(signs) % 4)
    try:
        decoded = base64.b64decode(padded)
    except binascii.Error:  # signs outside of the alphabet are gone and the padding fits: kept for the type's contract
        return b"", False
    return decoded, rest != 1 and not data.translate(None, b" \t\r\n=").translate(None, signs_of(signs))


def signs_of(signs: bytes) -> bytes:
    """Return the different bytes that occur."""
    return bytes(set(signs))


def decode_words(value: str) -> str:
    """Return a header's text with its encoded words (RFC 2047) decoded; what is none stays as it is.

    Neighbouring words of one charset are decoded together, because mail programs split characters between them.
    """
    if "=?" not in value:
        return value
    pieces: list[str] = []
    pending, charset, end = b"", "", 0
    joined = _BETWEEN.sub(r"\1\2", value)
    for match in _WORD.finditer(joined):
        between = joined[end : match.start()]
        named = match[1].partition("*")[0].lower()
        if pending and (between or named != charset):
            pieces.append(decode_text(pending, charset))
            pending = b""
        pieces.append(between)
        pending, charset, end = pending + _word(match[2], match[3]), named, match.end()
    return "".join((*pieces, decode_text(pending, charset), joined[end:]))


def _word(encoding: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if encoding in "bB":
        return decode_base64(data)[0]
    return binascii.a2b_qp(data, header=True)


def _codec(name: str) -> str:
    if not _NAME.fullmatch(name):
        return ""
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return ""
    # An English mail says `us-ascii` or `iso-8859-1` and is Windows' Latin; browsers read it so as well.
    found = "cp1252" if found == "iso8859-1" else found
    return found if _KNOWN.fullmatch(found) else ""
