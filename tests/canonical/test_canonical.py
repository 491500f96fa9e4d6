"""Canonical bytes, clean texts and names (RULE 20)."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.canonical import REPLACEMENT, canonical, clean_name, clean_text, sha256

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3),
    max_leaves=12,
)
ANY_TEXT = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x07\t\n\r\x1b\x7f\x85\u2028\ud800\udfff\ufeffe\u0301")), max_size=40)


# -- bytes ---------------------------------------------------------------------------------------------------------------


@given(PLAIN)
def test_equal_values_have_equal_bytes_and_the_bytes_read_back(value: Any) -> None:
    data = canonical(value)
    assert msgspec.json.decode(data) == value and canonical(msgspec.json.decode(data)) == data
    assert json.loads(data) == value


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), st.integers(0, 9), max_size=6))
def test_the_order_in_which_keys_came_does_not_show(value: dict[str, int]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert canonical(backwards) == canonical(value)
    assert list(json.loads(canonical(value))) == sorted(value, key=lambda k: k.encode())


def test_these_bytes_are_pinned() -> None:
    assert canonical({"b": 1, "a": ["Ø", None, True], "é": {"z": "\n\x00", "A": ""}}) == (
        '{"a":["Ø",null,true],"b":1,"é":{"A":"","z":"\\n\\u0000"}}'.encode()
    )
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


# -- texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [("plain words", "plain words"), ("", ""), ("tab\tand\nline", "tab\tand\nline"), ("a\r\nb\rc\n", "a\nb\nc\n"),
     ("nul\x00", f"nul{REPLACEMENT}"), ("\x1b[31mred", f"{REPLACEMENT}[31mred"), ("del\x7f", f"del{REPLACEMENT}"),
     ("lone \ud83d end", f"lone {REPLACEMENT} end"), ("pair \U0001f600", "pair \U0001f600"), ("é e\u0301", "é e\u0301"),
     ("\x85 \u2028", "\x85 \u2028"), ("\r", "\n"), ("\n\r\n", "\n\n")],
)  # fmt: skip
def test_what_cleaning_does_and_what_it_leaves(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@given(ANY_TEXT)
def test_clean_text_is_utf8_without_controls_and_clean_for_good(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert clean_text(clean) == clean
    assert not any((c < " " and c not in "\t\n") or c == "\x7f" for c in clean)
    assert len(clean) <= len(text)


@given(ANY_TEXT)
def test_a_name_is_one_line_in_nfc_without_outer_blanks(text: str) -> None:
    """Two ways to write the same name are one name."""
    name = clean_name(text)
    assert clean_name(name) == name and unicodedata.is_normalized("NFC", name) and name == name.strip()
    assert not set("\n\r\t\x00") & set(name)
    assert clean_name(unicodedata.normalize("NFD", name)) == name


def test_compatibility_forms_stay_different_names() -> None:
    """NFC, not NFKC: a ligature or a full-width letter is a letter of its own."""
    assert clean_name("ﬁle") == "ﬁle" != clean_name("file")
