"""Which professions there are, and the recurring programme of client work in each domain."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from services.professions.base import Profession
from services.professions.bom import BillOfMaterials
from services.professions.contracts import ContractReview
from services.professions.digest import RecordsDigest
from services.professions.inspection import InspectionControl
from services.professions.pack import ManagementPack
from services.professions.reconciliation import BankReconciliation
from services.professions.release import ReleaseTriage
from services.professions.trial import TrialMonitoring
from services.professions.variance import VarianceAnalysis
from simulator.errors import UnknownReference

_ALL: tuple[Profession, ...] = (
    BankReconciliation(),
    VarianceAnalysis(),
    ManagementPack(),
    ContractReview(),
    TrialMonitoring(),
    InspectionControl(),
    ReleaseTriage(),
    BillOfMaterials(),
    RecordsDigest(),
)
PROFESSIONS: Mapping[str, Profession] = MappingProxyType({profession.kind: profession for profession in _ALL})
DOMAINS = tuple(dict.fromkeys(profession.domain for profession in _ALL))


class Engagement(msgspec.Struct, frozen=True):
    """A line of a domain's programme: the kind of work, how often it comes, and which kinds it builds on."""

    kind: str
    cadence: str
    depends: tuple[str, ...] = ()


_CADENCE = {"trial-monitoring": "fortnightly", "inspection-control": "fortnightly", "release-triage": "weekly"}


def profession(kind: str) -> Profession:
    """Return the profession of a work kind. Raises `UnknownReference`."""
    if kind not in PROFESSIONS:
        raise UnknownReference(f"no work kind {kind!r}: the kinds are {', '.join(PROFESSIONS)}")
    return PROFESSIONS[kind]


def for_domain(domain: str) -> tuple[Profession, ...]:
    """Return the professions of a domain, in the order their work builds up; a domain not known gets `general`."""
    found = tuple(each for each in _ALL if each.domain == domain)
    return found or tuple(each for each in _ALL if each.domain == "general")


def plan(domain: str) -> tuple[Engagement, ...]:
    """Return the recurring programme of client work in a domain, what is built on first.

    Finance closes month by month: reconciliation, variance, pack. Trials and inspections are followed fortnightly,
    releases weekly, contracts, parts and records monthly.
    """
    return tuple(
        Engagement(each.kind, _CADENCE.get(each.kind, "monthly"), tuple(other.kind for other in each.others))
        for each in for_domain(domain)
    )
