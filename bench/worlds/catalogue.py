"""The catalogue of scenarios that synthesis can make tasks for: `fixtures/worlds/catalogue.yaml`, our own words."""

from __future__ import annotations

import difflib
import importlib.resources
from collections.abc import Mapping

import msgspec
import yaml

from simulator.errors import UnknownReference, UsageError


class Scenario(msgspec.Struct, frozen=True):
    """A kind of professional work. `brief` says for whom an agent works, what it can call, and what goes wrong easily."""

    id: str
    title: str
    brief: str
    industry: str
    domain: str


class _Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    brief: str


class _Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    scenarios: tuple[_Scenario, ...]


class _Industry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    domains: tuple[_Domain, ...]


class _Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    industries: tuple[_Industry, ...]


def parse_catalogue(text: str) -> dict[str, Scenario]:
    """Return the scenarios of a catalogue by id, in its order.

    Raises:
        UsageError: it is no catalogue, or two scenarios, domains or industries have one id.
    """
    try:
        read = msgspec.convert(yaml.safe_load(text), _Catalogue)
    except (yaml.YAMLError, msgspec.ValidationError) as fault:
        raise UsageError(f"The catalogue of scenarios cannot be read: {fault}") from fault
    ids = [i.id for i in read.industries] + [d.id for i in read.industries for d in i.domains]
    found: dict[str, Scenario] = {}
    for industry in read.industries:
        for domain in industry.domains:
            for one in domain.scenarios:
                ids.append(one.id)
                found[one.id] = Scenario(one.id, one.title, " ".join(one.brief.split()), industry.title, domain.title)
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise UsageError(f"The catalogue of scenarios uses the same id twice: {', '.join(twice)}. Rename one of each.")
    return found


def load_catalogue() -> dict[str, Scenario]:
    """Return the shipped scenarios by id."""
    folder = importlib.resources.files("fixtures").joinpath("worlds")
    return parse_catalogue(folder.joinpath("catalogue.yaml").read_text("utf-8"))


def find(catalogue: Mapping[str, Scenario], scenario: str) -> Scenario:
    """Return a scenario by its id.

    Raises:
        UnknownReference: there is none; says which ids are near.
    """
    if scenario in catalogue:
        return catalogue[scenario]
    near = difflib.get_close_matches(scenario, catalogue, 3) or sorted(catalogue)[:3]
    raise UnknownReference(
        f"There is no scenario `{scenario}` in the catalogue. Near it: {', '.join(near)}. "
        "`officetown worlds synthesize --list` shows all."
    )
