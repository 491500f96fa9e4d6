"""Every command does what DESIGN 13 says, and ends with its object."""

from __future__ import annotations

import json
import re
from pathlib import Path

from orchestrator.log_hash import log_hash
from tests.orchestrator.support import JUNIPER, Desk

HASH = re.compile(r"[0-9a-f]{64}")


def test_run_ends_with_the_object_that_design_13_shows(desk: Desk) -> None:
    result = desk.json("run", JUNIPER, "--days", "1", "--seed", "1")
    assert set(result) == {"office", "revision", "sim_time", "days", "counts", "cost", "hash"}
    counts = result["counts"]
    assert set(counts) == {
        "people", "messages", "mails", "meetings", "activations", "delegations", "reviews", "files", "conflicts",
    }  # fmt: skip
    assert set(counts["reviews"]) == {"accept", "revise", "supplement"}
    assert (counts["people"], result["days"], result["cost"]) == (12, 1, {"micros": 0, "currency": "GBP"})
    assert HASH.fullmatch(result["hash"])
    assert result["sim_time"].startswith("2026-01-05T")


def test_run_says_the_offices_id_first_and_run_office_goes_on_from_there_to_the_same_end(desk: Desk) -> None:
    """`--days N` is in total: a command repeated ends at the same instant and changes nothing."""
    first = desk("run", JUNIPER, "--days", "1", "--seed", "1")
    found = re.search(r"^Office ([0-9a-f]{12}) \(Juniper\) opens\.$", first.out, re.M)
    assert first.code == 0 and found is not None
    office = found[1]
    on = desk.json("run", office, "--days", "2")
    again = desk.json("run", office, "--days", "2")
    less = desk.json("run", office, "--days", "1")
    assert on["office"] == office
    assert {key: again[key] for key in ("revision", "hash", "counts", "sim_time")} == {
        key: on[key] for key in ("revision", "hash", "counts", "sim_time")
    }
    assert less["hash"] == on["hash"]
    at_once = desk.json("run", JUNIPER, "--days", "2", "--seed", "1", "--name", "Other")
    assert at_once["hash"] == on["hash"]


def test_an_office_is_found_by_its_id_a_beginning_of_it_or_its_name(worked: Desk) -> None:
    shown = worked.json("offices")["offices"]
    office = shown[0]["id"]
    for reference in (office, office[:5], "Juniper"):
        assert worked.json("log", reference, "--hash")["hash"] == worked.json("log", office, "--hash")["hash"]


def test_follow_tells_the_day_as_readable_lines(desk: Desk) -> None:
    said = desk("run", JUNIPER, "--days", "1", "--seed", "1", "--follow")
    assert "Monday 5 January 2026" in said.out
    assert re.search(r"^  \d\d:\d\d  \w+ \w+ mails ", said.out, re.M)


def test_with_json_stdout_holds_the_object_alone_and_the_words_go_to_stderr(desk: Desk) -> None:
    said = desk("run", JUNIPER, "--days", "1", "--seed", "1", "--follow", "--json")
    assert said.out.count("\n") == 1
    assert json.loads(said.out)["days"] == 1
    assert "Monday 5 January 2026" in said.err


def test_log_hash_prints_the_hash_of_the_canonical_log_and_raw_the_log_itself(worked: Desk) -> None:
    """RULE 20: SHA-256 over the stored bytes."""
    house = worked.house()
    expected = log_hash(house.offices.read(house.row("Juniper").id))
    house.close()
    assert worked("log", "Juniper", "--hash").out == f"{expected}\n"


def test_show_names_the_people_and_what_they_have_made(worked: Desk) -> None:
    said = worked("show", "Juniper")
    assert "Elena Marsh" in said.out and "Engagement manager" in said.out
    assert worked.json("show", "Juniper")["counts"]["people"] == 12


def test_why_leads_from_a_delivered_file_back_to_the_client_who_asked(worked: Desk) -> None:
    delivered = [
        f["path"] for f in worked.json("files", "Juniper", "--as", "maya")["files"] if "Reconciliation" in f["path"]
    ]
    said = worked("why", "Juniper", delivered[0])
    lines = said.out.splitlines()
    assert "saves Reconciliation.xlsx" in lines[0]
    assert any("delegates bank-reconciliation" in line for line in lines)
    assert any("Maya Lindqvist mails Elena Marsh" in line for line in lines)
    revisions = [step["revision"] for step in worked.json("why", "Juniper", delivered[0])["chain"]]
    assert revisions == sorted(revisions, reverse=True)


def test_who_can_agrees_with_files_for_every_person_and_file(worked: Desk) -> None:
    """RULE 29: what a person is listed is what `who-can` grants them, at the end and on an earlier day."""
    house = worked.house()
    office = house.office(house.row("Juniper"))
    house.close()
    chosen, judged = sorted(office.files)[::5], 0
    for on in ("2026-01-05", "2026-01-07"):
        seen = {
            person: {
                (f["sha256"], f["version"])
                for f in worked.json("files", "Juniper", "--as", person, "--on", on)["files"]
            }
            for person in ("elena", "sofia", "maya")
        }
        for name in chosen:
            file = office.files[name]
            if worked("who-can", "Juniper", f"{name}@1", "--on", on).code:
                continue
            entitled = {w["person"] for w in worked.json("who-can", "Juniper", f"{name}@1", "--on", on)["who"]}
            for person, theirs in seen.items():
                if (file.versions[0].blob.sha256, 1) in theirs:
                    assert person in entitled
                    judged += 1
    assert judged > 10


def test_files_copies_out_what_the_person_sees(worked: Desk, tmp_path: Path) -> None:
    listed = worked.json("files", "Juniper", "--as", "ben", "-o", tmp_path / "ben")["files"]
    made = {f"/{p.relative_to(tmp_path / 'ben').as_posix()}" for p in (tmp_path / "ben").rglob("*") if p.is_file()}
    assert made == {f["path"] for f in listed}


def test_costs_shows_calls_by_role_person_task_and_day(worked: Desk) -> None:
    result = worked.json("costs", "Juniper")
    assert result["cost"] == {"micros": 0, "currency": "GBP"}
    for groups in ("by_role", "by_person", "by_day"):
        assert sum(used["calls"] for used in result[groups].values()) == result["calls"]
    assert set(result["by_role"]) == {"principal", "client", "assistant"}
    assert {"2026-01-05", "2026-01-06", "2026-01-07"} >= set(result["by_day"])
    assert sum(u["calls"] for u in result["by_task"].values()) == result["by_role"]["assistant"]["calls"]


def test_an_office_that_is_removed_is_gone_and_its_files_go_with_the_next_gc(copied: Desk) -> None:
    office = copied.json("offices")["offices"][0]["id"]
    assert copied.json("offices", "rm", office) == {"removed": office}
    assert copied.json("offices") == {"offices": []}
    assert copied("doctor", "--gc").code == 0
    assert copied("show", office).code == 2


def test_new_makes_a_package_that_check_accepts_and_run_runs(desk: Desk, tmp_path: Path) -> None:
    brief = "A seven-person accounting practice serving two clients"
    made = desk.json("new", brief, "-o", tmp_path / "package", "--seed", "7")
    assert made == {"package": str(tmp_path / "package")}
    assert desk.json("check", tmp_path / "package") == {"faults": []}
    assert desk.json("run", tmp_path / "package", "--days", "1")["counts"]["people"] == 7


def test_new_without_a_folder_never_takes_one_that_is_there(desk: Desk) -> None:
    brief = "A five-person accounting practice serving one client"
    made = [desk.json("new", brief, "--seed", "3")["package"] for _ in range(2)]
    assert made[0] != made[1]


def test_check_seal_accepts_an_edit(desk: Desk, tmp_path: Path) -> None:
    package = tmp_path / "package"
    desk.json("new", "A five-person accounting practice serving one client", "-o", package)
    text = (package / "organization.yaml").read_text()
    (package / "organization.yaml").write_text(f"# looked through by hand\n{text}")
    assert desk("check", package).code == 2
    assert desk.json("check", package, "--seal") == {"faults": []}
    assert desk("check", package).code == 0


def test_doctor_says_what_works_here(desk: Desk) -> None:
    said = desk("doctor")
    assert said.code == 0
    assert "bubblewrap works" in said.out and "offline professional" in said.out
