"""Two clients' months, worked through once a session by the skill packs' scripts."""

from __future__ import annotations

import pytest

from tests.professions.office import Work, months

MONTHS = ["2025-11", "2025-12", "2026-01", "2026-02"]
CLIENTS = {"Riverbend Outdoor": 11, "Oakridge Devices": 4}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Work]:
    """Return every finished work by (client, kind, period), each month built on the one before."""
    done = {}
    for client, seed in CLIENTS.items():
        for made in months(client, seed, MONTHS, tmp_path_factory.mktemp("client")):
            done[client, made.profession.kind, made.period] = made
    return done
