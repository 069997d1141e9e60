"""docs/reliability.md has a row for every fault, and tells of a last failure where there was one alone."""

from pathlib import Path

from bench.report import table
from tests.faults.faults import FAULTS
from tests.faults.report import HEAD, last_failure

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_the_table_has_the_columns_of_the_suite_and_a_row_for_each_of_its_faults() -> None:
    lines = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("|")]
    assert lines[:2] == table(HEAD, []).splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == [fault.name for fault in FAULTS]


def test_the_last_failure_is_told_as_against_the_end_of_the_fault_and_is_none_where_every_request_was_good() -> None:
    told = [last_failure(sent, mended=50.0) for sent in (None, 49.0, 51.26)]
    assert told == ["none", "during", "1.3 s after"]


def test_a_row_tells_of_a_last_failure_where_it_has_an_answer_that_is_not_200_and_of_none_elsewhere() -> None:
    lines = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [dict(zip(HEAD, line.strip("| ").split(" | "), strict=True)) for line in lines[2:]]
    good = {
        row["fault"]: all(each.startswith("200 ×") for when in HEAD[1:4] for each in row[when].split(", "))
        for row in cells
    }
    assert {row["fault"]: row["last failure"] == "none" for row in cells} == good
