"""Whatever stands in a package's files, reading them ends in a package or in faults, never in a crash."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.package_checks import check_files
from simulator.package_text import dump, read_document
from tests.packages.opening import opened
from tests.packages.samples import FILES, sample

TEXTS = sorted(path for path in FILES if path.endswith((".yaml", ".csv", ".json", ".md")))
PIECES = [
    "",
    "null",
    "[]",
    "{}",
    "-1",
    "1e400",
    "99999999999999999999999",
    "!!python/object:os.system x",
    "&a *a",
    "'",
    '"',
    "\t",
    "\ufeff",
    "\u2028",
    "\xe9",
    "- ",
    ": ",
    "..",
    "/",
    "2026-02-31",
    "\x00",
    "\x85",
    "~",
    "yes",
    "<<: {}",
    "|",
    ">",
    "%YAML 9",
    "---\n",
]


@settings(max_examples=300)
@given(data=st.data())
def test_any_line_may_be_replaced_by_anything(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(TEXTS))
    lines = FILES[path].splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    key, colon, _ = lines[at].partition(": ")
    junk = data.draw(st.sampled_from(PIECES) | st.text(max_size=30))
    lines[at] = f"{key}{colon}{junk}" if data.draw(st.booleans()) else junk
    package, faults = check_files({**sample(), path: "\n".join(lines).encode("utf-8", "surrogatepass")})
    assert all(fault.file and fault.text for fault in faults)
    if package is not None and not faults:
        assert opened(package).name == package.organization.name, "what passes check makes an office"


@given(st.binary(max_size=200))
def test_any_bytes_at_all(data: bytes) -> None:
    for path in (
        "organization.yaml",
        "people/bo.yaml",
        "materials/balance.csv",
        "skills/digest/SKILL.md",
        "provenance.json",
    ):
        check_files({**sample(), path: data})


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60)
        | st.lists(st.text("ab: #-'\"", max_size=9), max_size=4),
        max_size=6,
    )
)
def test_text_survives_yaml_whatever_it_looks_like(value: dict[str, object]) -> None:
    document = read_document("x.yaml", dump(value))
    assert not document.faults and document.data == value


@given(
    st.lists(st.sampled_from(["books", "quality", "cellar"]), min_size=2, max_size=2),
    st.sampled_from(["ana", "bo", "cy", "zed", ""]),
)
def test_a_spoiled_part_is_always_told(departments: list[str], manager: str) -> None:
    """People moved at will: the package passes exactly when departments exist, are staffed, and lines are a tree."""
    files = sample()
    for who, department in zip(("bo", "cy"), departments, strict=True):
        old = FILES[f"people/{who}.yaml"]
        line = next(text for text in old.splitlines() if text.startswith("department"))
        files[f"people/{who}.yaml"] = old.replace(line, f"department: {department}").encode()
    files["people/bo.yaml"] = files["people/bo.yaml"].replace(b"manager: ana", f"manager: '{manager}'".encode())
    _, faults = check_files(files)
    sound = "cellar" not in departments and "quality" in departments and manager in ("ana", "cy")
    assert (faults == []) is sound
