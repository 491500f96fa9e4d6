"""The occupation index, and the importers of the full O*NET and ESCO downloads."""

from __future__ import annotations

import os
from pathlib import Path

import openpyxl
import pytest

from services.packages.occupations import OccupationIndex, import_esco, import_onet
from simulator.errors import UsageError

ONET = "OFFICETOWN_ONET"
"""Names the folder of a downloaded O*NET database; tests that need the full one skip without it."""


def test_the_shipped_index_has_every_code_and_the_office_roles() -> None:
    index = OccupationIndex.load()
    assert len(index.codes) == 1016
    assert len(index.office) == 68
    assert index.by_code["13-2011.00"].title == "Accountants and Auditors"
    assert all(one.domain and one.also and one.kinds[-1] == "records-digest" for one in index.office)
    assert {one.domain for one in index.office} == {
        "finance",
        "legal",
        "clinical",
        "quality",
        "software",
        "design",
        "general",
    }
    assert not any(one.domain for one in index.by_code.values() if not one.field)


def test_the_index_is_attributed() -> None:
    text = (Path(__file__).parents[2] / "fixtures/occupations/README.md").read_text()
    assert "O*NET 29.3 Database" in text and "CC BY 4.0" in text and "USDOL/ETA" in text


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("A law firm of two lawyers and a paralegal", ["23-1011.00", "23-2011.00"]),
        ("data scientists", ["15-2051.00"]),
        ("Product designers, and one UX Designer", ["15-1255.00"]),
        ("accountants and auditors", ["13-2011.00"]),
        ("appraisers", ["13-2023.00"]),
        ("chief executive; management consultants", ["11-1011.00", "13-1111.00"]),
        ("a bakery", []),
        ("", []),
    ],
)
def test_words_find_occupations(text: str, codes: list[str]) -> None:
    assert [one.code for one in OccupationIndex.load().match(text)] == codes


def test_every_office_role_is_found_by_its_own_names() -> None:
    index = OccupationIndex.load()
    for one in index.office:
        assert [found.code for found in index.match(one.title)] == [one.code]
        for name in one.also:
            assert one.code in [found.code for found in index.match(f"Our {name}, and others")], name


def table(folder: Path, name: str, rows: list[list[object]], form: str) -> None:
    if form == "txt":
        text = "".join("\t".join(str(cell) for cell in row) + "\n" for row in rows)
        (folder / f"{name}.txt").write_text(text, "utf-8")
        return
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    book.save(folder / f"{name}.xlsx")


@pytest.mark.parametrize("form", ["txt", "xlsx"])
def test_onet_is_read_by_header_names_in_both_editions(tmp_path: Path, form: str) -> None:
    code = "O*NET-SOC Code"
    table(
        tmp_path,
        "Occupation Data",
        [["Title", "Description", code], ["Accountants", 'Say "hi"', "13-2011.00"], ["New", "-", "99-0001.00"]],
        form,
    )
    table(
        tmp_path, "Job Zones", [[code, "Title", "Job Zone"], ["13-2011.00", "x", 4], ["99-0001.00", "x", "n/a"]], form
    )
    table(
        tmp_path,
        "Task Statements",
        [["Task", code], ['Check the "books".', "13-2011.00"], ["Sum up.", "13-2011.00"]],
        form,
    )
    table(tmp_path, "Alternate Titles", [[code, "Alternate Title"], ["99-0001.00", "Novelty Clerk"]], form)
    index = import_onet(tmp_path)
    assert index.codes == {"13-2011.00", "99-0001.00"}
    accountant, new = index.by_code["13-2011.00"], index.by_code["99-0001.00"]
    assert (accountant.title, accountant.job_zone, accountant.domain) == ("Accountants", 4, "finance")
    assert accountant.tasks == ('Check the "books".', "Sum up.")
    assert (new.job_zone, new.also, new.tasks) == (0, ("Novelty Clerk",), ())
    assert [one.code for one in index.match("novelty clerks")] == ["99-0001.00"]


def test_esco_is_read_by_header_names(tmp_path: Path) -> None:
    file = tmp_path / "occupations_en.csv"
    file.write_text(
        "conceptType,conceptUri,iscoGroup,preferredLabel,altLabels\n"
        'Occupation,http://data.europa.eu/esco/occupation/abc-1,2411,accountant,"book keeper\nledger clerk"\n'
    )
    index = import_esco(file)
    one = index.by_code["abc-1"]
    assert (one.title, one.field, one.also) == ("accountant", "2411", ("book keeper", "ledger clerk"))


def test_bad_downloads_get_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds neither"):
        import_onet(tmp_path)
    (tmp_path / "Occupation Data.xlsx").write_bytes(b"no workbook")
    with pytest.raises(UsageError, match="no Excel workbook"):
        import_onet(tmp_path)
    (tmp_path / "Occupation Data.xlsx").unlink()
    (tmp_path / "Occupation Data.txt").write_text("Code\tTitle\n1\tx\n")
    with pytest.raises(UsageError, match=r"no column `O\*NET-SOC Code`"):
        import_onet(tmp_path)
    (tmp_path / "Occupation Data.txt").write_text("O*NET-SOC Code\tTitle\nxyz\tClerk\n")
    with pytest.raises(UsageError, match="`xyz` is no O"):
        import_onet(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        import_esco(tmp_path / "none.csv")
    (tmp_path / "esco.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="no column `conceptUri`"):
        import_esco(tmp_path / "esco.csv")


@pytest.mark.slow
def test_the_shipped_index_agrees_with_the_published_database() -> None:
    folder = os.environ.get(ONET)
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"needs the O*NET database: set {ONET} to its folder")
    published = import_onet(Path(folder))
    shipped = OccupationIndex.load()
    assert published.codes == shipped.codes
    for code, one in published.by_code.items():
        assert (one.title, one.job_zone) == (shipped.by_code[code].title, shipped.by_code[code].job_zone)
