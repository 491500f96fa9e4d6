"""docs/packages.md names every field that a package may hold."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simulator.package import (
    ClientCard,
    Contact,
    DemandCard,
    DepartmentCard,
    Material,
    MatterCard,
    RhythmCard,
    RoleCard,
)
from simulator.package_checks import AUTHORITIES, DOMAINS
from simulator.package_records import COLUMNS
from simulator.package_text import SETTINGS

TEXT = (Path(__file__).parents[2] / "docs/packages.md").read_text()
CARDS = (ClientCard, Contact, DemandCard, DepartmentCard, Material, MatterCard, RhythmCard, RoleCard)


@pytest.mark.parametrize("card", CARDS)
def test_every_field_is_documented(card: type[msgspec.Struct]) -> None:
    missing = [field.name for field in msgspec.structs.fields(card) if f"`{field.name}`" not in TEXT]
    assert not missing


def test_every_setting_authority_domain_and_kind_of_record_is_documented() -> None:
    assert [name for name in SETTINGS if f"`{name}`" not in TEXT] == []
    assert [word for word in (*AUTHORITIES, *DOMAINS) if word not in TEXT] == []
    assert [name for name in COLUMNS if f"`{name}`" not in TEXT] == []
