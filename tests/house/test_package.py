"""An installed wheel carries what the code needs beside the code: templates, migrations, fixtures."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.house.test_tidy import tracked

ROOT = Path(__file__).parents[2]
PACKAGES = ("simulator", "services", "bench", "training", "orchestrator", "migrations", "fixtures")


def test_the_wheel_holds_every_committed_file_of_the_packages_and_nothing_of_the_tests(tmp_path: Path) -> None:
    source = tmp_path / "source"
    committed = [path.relative_to(ROOT) for path in tracked()]
    for path in committed:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes((ROOT / path).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path), str(source)], check=True, capture_output=True, timeout=110)
    (wheel,) = tmp_path.glob("officetown-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    expected = {path.as_posix() for path in committed if path.parts[0] in PACKAGES}
    assert expected - names == set()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} <= set(PACKAGES)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
