"""Mutants are one fault each, at the place that they name, and reach the function that they change."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import FunctionType

from mutants import code_of, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[1]
SOURCE = '''"""Text."""
from __future__ import annotations
import math
LIMIT = 3

class Charge:
    def granted(self, spent: float, *, strict: bool = True) -> float:
        """Text."""
        if spent > LIMIT and strict:
            raise ValueError(f"{spent} + 1 is more")
        self.note(spent, twice=False)
        return math.sqrt(max(spent, 0.5))
'''
EXPECTED = {
    ("3", "4"),
    ("3", "2"),
    ("True", "False"),
    ("spent > LIMIT and strict", "spent > LIMIT or strict"),
    ("spent > LIMIT", "spent >= LIMIT"),
    ("spent > LIMIT", "spent <= LIMIT"),
    ("raise ValueError(f'{spent} + 1 is more')", "pass"),
    ("self.note(spent, twice=False)", "pass"),
    ("self.note(spent, twice=False)", "self.note(spent)"),
    ("False", "True"),
    ("return math.sqrt(max(spent, 0.5))", "return None"),
    ("math.sqrt(max(spent, 0.5))", "max(spent, 0.5)"),
    ("max(spent, 0.5)", "min(spent, 0.5)"),
    ("0.5", "0.35"),
}


def test_every_kind_of_fault_is_made_once_and_texts_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    found = mutants_of(path, tmp_path)
    assert {(each.before, each.after) for each in found} == EXPECTED
    assert len(found) == len(EXPECTED)
    assert {each.function for each in found} == {"", "Charge.granted"}
    assert [each.after for each in found if not each.function] == ["4", "2", "False"]
    whole = ast.unparse(ast.parse(SOURCE))
    texts = {ast.unparse(mutated(SOURCE, each.number)) for each in found}
    assert len(texts) == len(found)
    assert whole not in texts


SQL = """
def kept(most: int) -> str:
    return f"SELECT a, least(b, 0) FROM (t) WHERE n <= {most - 1} AND a IS NULL"
"""


def test_sql_with_values_has_faults_of_its_own_and_other_texts_have_none(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SQL)
    found = {each.after for each in mutants_of(path, tmp_path)}
    sound = "SELECT a, least(b, 0) FROM (t) WHERE n <= {most - 1} AND a IS NULL"
    changes = [("least", "greatest"), (", 0", ", 1"), ("<=", "<"), ("AND", "OR"), ("IS NULL", "IS NOT NULL")]
    faults = {f"f'{sound.replace(before, after)}'" for before, after in changes}
    assert found == faults | {"return None", "most + 1", "2", "0"}


def test_the_code_of_a_fault_replaces_that_of_the_function(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    names: dict[str, object] = {}
    exec(compile(SOURCE, "module.py", "exec"), names)  # noqa: S102 - the text above
    granted = vars(names["Charge"])["granted"]
    assert isinstance(granted, FunctionType)
    fault = next(each for each in mutants_of(path, tmp_path) if each.kind == "swapped")
    code = code_of(mutated(SOURCE, fault.number), "module.py")
    granted.__code__ = code["Charge.granted", granted.__code__.co_firstlineno]

    class Quiet:
        def note(self, spent: float, *, twice: bool) -> None:
            """Nothing."""

    assert granted(Quiet(), 1.0) == 0.5**0.5


def test_explained_survivors_are_still_faults_of_their_modules() -> None:
    """Rows of docs/mutation.md: | privacy/noise.py | `before` → `after` | reason |."""
    page = (ROOT / "docs" / "mutation.md").read_text()
    rows = re.findall(r"^\| (\S+\.py) \| `(.+)` → `(.+)` \| .+ \|$", page, re.MULTILINE)
    assert len(rows) == page.count("` → `") > 0
    for module, before, after in rows:
        faults = {(each.before, each.after) for each in mutants_of(ROOT / "src" / "privroute" / module, ROOT)}
        assert (before, after) in faults, f"{module} has no fault {before} -> {after}; update docs/mutation.md"
