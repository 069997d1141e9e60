"""docs/reliability.md has a row for every fault."""

from pathlib import Path

from bench.report import table
from tests.faults.faults import FAULTS
from tests.faults.report import HEAD

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_the_table_has_the_columns_of_the_suite_and_a_row_for_each_of_its_faults() -> None:
    lines = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("|")]
    assert lines[:2] == table(HEAD, []).splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == [fault.name for fault in FAULTS]
