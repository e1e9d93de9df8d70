"""What is published as source: the files that are named in pyproject.toml, whatever else lies in the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALONE = ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
PLANTED = (
    "agency.pem",
    "city.ledger",
    "trips.csv",
    ".env",
    "core/trips.csv",
    "data/trips.parquet",
    "docs/core/agency.pem",
    "release/release.json",
    "src/trips.csv",
    "src/privroute/agency",
    "src/privroute/city.ledger",
    "src/privroute/network/data/sioux_falls/users.csv",
    "src/privroute/serve/page/agency.pem",
    "tests/src/privroute/trips.py",
)


def test_the_source_distribution_has_what_the_package_needs_and_nothing_that_lies_about(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    built = shutil.ignore_patterns("__pycache__", "*.so")
    for folder in ("core", "src"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=built)
    for name in ALONE:
        shutil.copy(ROOT / name, tree)
    named = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    for name in PLANTED:
        assert name not in named
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("secret")
    build = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=tree, check=True, capture_output=True)
    (archive,) = out.iterdir()
    with tarfile.open(archive) as file:
        found = {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}
    assert found == named | {"PKG-INFO"}
