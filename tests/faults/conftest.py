"""One running stack for all faults, and the table of them where the long form is run."""

import os
from collections.abc import Iterator

import pytest

from bench.report import replace_section, table
from local.stack import ROOT
from tests.faults.faults import FAULTS
from tests.faults.report import HEAD, SECTION
from tests.faults.stand import Stand, standing
from tests.support.dynamodb_local import dynamodb_local

DOCUMENT = ROOT / "docs" / "reliability.md"
# As `make faults` sets it.
LONG = os.environ.get("FAULTS") == "long"
Rows = dict[str, list[str]]


@pytest.fixture(scope="session")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A stack with two models and an endpoint, whose parts may be broken, and an engine whose tables are its alone."""
    folder = tmp_path_factory.mktemp("faults")
    with (
        dynamodb_local(tmp_path_factory.mktemp("dynamodb-local")) as engine,
        standing(folder, engine, long=LONG) as stand,
    ):
        yield stand


@pytest.fixture(scope="session")
def rows() -> Iterator[Rows]:
    """A row for each fault that was met; all of them together are written into the document."""
    rows: Rows = {}
    yield rows
    if LONG and len(rows) == len(FAULTS):
        text = table(HEAD, [[name, *cells] for name, cells in rows.items()])
        DOCUMENT.write_text(replace_section(DOCUMENT.read_text("utf-8"), SECTION, text), "utf-8")
