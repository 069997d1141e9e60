"""The list of records in the requests table of the template: whole, in order, of one project, at a bounded cost."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import pytest
from moto import mock_aws

from local import aws
from local.stack import ROOT
from local.template import Template
from tests.support.edge import NOW
from tests.support.records import record
from tokencount.adapters.record_search import LOOKED_AT, QUERIES
from tokencount.adapters.request_log import DynamoRequestLog
from tokencount.domain.ids import first_id, new_id
from tokencount.domain.records import RecordQuery

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "RequestsTable"
# The log's clock: the engine deletes what is past its time to live by its own.
LATER = datetime(2040, 1, 1, tzinfo=UTC)
ENGINE = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]


class Table:
    """The requests table with some records, a second apart."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self.client = client
        template = Template(ROOT / "template.yaml")
        properties = dict(template.resources("AWS::DynamoDB::Table"))[TABLE]
        aws.create_table(self.client, TABLE, template.resolve(properties))
        self.log = DynamoRequestLog(self.client, TABLE, lambda: LATER)
        self.queries = 0
        self.client.meta.events.register("before-call.dynamodb.Query", self._count)

    def _count(self, **_: Any) -> None:
        self.queries += 1

    def put(self, *changes: dict[str, Any]) -> list[str]:
        """Their ids, the newest first."""
        ids = []
        for at, change in enumerate(changes):
            ids.append(new_id("req", NOW + timedelta(seconds=at)))
            self.log.put(record(**{"id": ids[-1], "status": 200, "model": "m"} | change))
        return ids[::-1]

    def pages(self, **wanted: Any) -> Iterator[list[str]]:
        """The ids of each page, until there are no more."""
        after = None
        while True:
            page = self.log.find(RecordQuery(project="p", after=after, **wanted))
            yield [found["id"] for found in page.records]
            after = page.last
            if after is None:
                return


@pytest.fixture(params=["moto", pytest.param("engine", marks=ENGINE)])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    if request.param == "moto":
        with mock_aws():
            yield Table(boto3.client("dynamodb", region_name="us-east-1"))
    else:
        session = boto3.Session(uuid4().hex, "x", region_name="us-east-1")  # each key has a database of its own
        yield Table(session.client("dynamodb", endpoint_url=request.getfixturevalue("engine")))


def test_an_empty_project_has_an_empty_list(table: Table) -> None:
    assert list(table.pages()) == [[]]


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 6), (2, [2, 2, 2]), (4, [4, 2]), (6, [6]), (100, [6])])
def test_pages_hold_every_record_once_the_newest_first_and_the_last_says_so(
    limit: int, sizes: list[int], table: Table
) -> None:
    ids = table.put(*[{}] * 6)
    pages = list(table.pages(limit=limit))
    assert [len(page) for page in pages] == sizes
    assert [each for page in pages for each in page] == ids


def test_a_record_in_the_list_has_every_field_that_it_has_alone(table: Table) -> None:
    [request_id] = table.put({"input_tokens": 27, "error": None})
    [listed] = table.log.find(RecordQuery(project="p")).records
    assert listed == table.log.get(request_id)
    assert listed["model"] == "m"


def test_another_project_s_records_are_not_listed(table: Table) -> None:
    _, own, _ = table.put({"project": "q"}, {}, {"project": "q"})
    assert list(table.pages()) == [[own]]


def test_a_record_whose_time_is_over_is_neither_listed_nor_found_though_it_is_still_there(table: Table) -> None:
    over = int(LATER.timestamp())
    kept, gone = table.put({"expires_at": over}, {"expires_at": over + 1})
    assert list(table.pages()) == [[kept]]
    assert table.log.get(gone) is None
    assert table.log.get(kept) is not None
    assert table.client.scan(TableName=TABLE)["Count"] == 2


def test_filters_are_met_together_and_a_page_is_full_though_others_lie_between(table: Table) -> None:
    kinds = [{"status": status, "model": model} for status in (200, 404, 429, 500) for model in ("m", "n", None)]
    ids = table.put(*kinds * 3)
    of = dict(zip(ids, reversed(kinds * 3), strict=True))

    def wanted(low: int, high: int, model: str | None) -> list[str]:
        return [each for each, kind in of.items() if low <= int(kind["status"] or 0) <= high and kind["model"] == model]

    assert list(table.pages(statuses=(429, 429), model="n")) == [wanted(429, 429, "n")]
    pages = list(table.pages(statuses=(400, 499), model="m", limit=2))
    assert [len(page) for page in pages] == [2, 2, 2]
    assert [each for page in pages for each in page] == wanted(400, 499, "m")


def test_since_ends_the_list_also_where_a_page_begins_at_it_or_before_it(table: Table) -> None:
    ids = table.put(*[{}] * 4)
    since = first_id("req", NOW + timedelta(seconds=2))
    assert list(table.pages(since=since)) == [ids[:2]]
    assert list(table.pages(since=since, limit=1)) == [ids[:1], ids[1:2]]
    for after in (ids[1], ids[2], ids[3]):
        page = table.log.find(RecordQuery(project="p", since=since, after=after))
        assert (page.records, page.last) == ([], None)


def test_where_few_are_wanted_one_page_costs_a_bounded_number_of_queries_and_the_next_goes_on(table: Table) -> None:
    many = QUERIES * LOOKED_AT + 10
    ids = table.put({"status": 429}, *[{}] * many, {"status": 429})
    first = table.log.find(RecordQuery(project="p", statuses=(429, 429)))
    assert table.queries == QUERIES
    assert [found["id"] for found in first.records] == ids[:1]
    assert first.last is not None
    second = table.log.find(RecordQuery(project="p", statuses=(429, 429), after=first.last))
    assert [found["id"] for found in second.records] == ids[-1:]
    assert second.last is None
