"""A bill is what requests take by the prices, and what they take is counted as AWS counts it."""

import os
from pathlib import Path

import pytest

from bench.consumed import Units, item_bytes, processor_seconds
from bench.cost import metrics
from bench.cost_report import Measured, section
from bench.prices import PRICES, Memory, Taken, bill, billed, standing

TAKEN = Taken(edge_ms=10, counter_ms=20.2, calls=4, reads=3, writes=5, record=600, log=2000, out=400)
OWN = Memory(edge=512, counter=1769)


def test_the_edge_is_billed_for_its_share_of_a_core_and_for_all_that_it_waits_for() -> None:
    # 10 ms x 1769 / 512, four calls of 5 ms, 10 ms for the invocation, and the counter's 20.2 ms; each rounded up.
    assert billed(TAKEN, OWN) == (85, 21)
    # From a full core on, more memory makes nothing faster.
    assert billed(TAKEN, Memory(edge=3538, counter=3538)) == (61, 21)


def test_a_bill_is_for_a_million_requests() -> None:
    told = bill(TAKEN, OWN)
    assert told["API Gateway"] == 3.50
    assert told["edge"] == pytest.approx(0.20 + 85_000 * 0.5 * 0.0000133334)
    assert told["counter"] == pytest.approx(0.20 + 21_000 * 1769 / 1024 * 0.0000133334)
    assert told["DynamoDB, writes"] == 5 * 0.625
    # 0.6 GB in the table and in the index, and as much in its backup.
    assert told["records kept"] == pytest.approx(0.6 * (0.25 + 0.25 + 0.20))
    assert told["logs"] == pytest.approx(2 * (0.50 + 0.03))


def test_a_version_that_is_kept_is_paid_for_every_second_of_a_month() -> None:
    costs = standing({"edge": 512, "counter": 1536}, alarms=3, metrics=2)
    price = PRICES["SnapStart, a GB-second of a published version kept"]
    assert costs["SnapStart"] == pytest.approx(2 * 730 * 3600 * price)
    assert costs["alarms"] == pytest.approx(0.30)
    assert costs["metrics of its own"] == pytest.approx(0.60)


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"S": "ü"}, 2),
        ({"N": "1790000000"}, 3),
        ({"N": "1790000001"}, 6),
        ({"N": "12.5"}, 3),
        ({"NULL": True}, 1),
        ({"M": {"ab": {"S": "c"}}}, 3 + 2 + 1 + 1),
        ({"L": [{"S": "abc"}]}, 3 + 1 + 3),
    ],
)
def test_an_item_has_the_size_that_dynamodb_counts(item: dict[str, object], size: int) -> None:
    assert item_bytes(item) == size


def test_units_are_those_of_the_answers_and_a_write_whose_condition_failed_takes_one() -> None:
    units = Units()
    units.add("PutItem", {"Item": {"id": {"S": "abc"}}}, b'{"ConsumedCapacity": {"CapacityUnits": 2.0}}')
    units.add("UpdateItem", {}, b'{"__type": "ConditionalCheckFailedException"}')
    units.add("GetItem", {}, b'{"ConsumedCapacity": {"CapacityUnits": 0.5}}')
    assert units.take() == {"writes": 3, "reads": 0.5, "calls": 3, "put": 2 + 1 + 3}
    assert units.take() == {}


def test_a_metric_is_one_for_each_value_of_its_dimensions(tmp_path: Path) -> None:
    told = '{"_aws": {"CloudWatchMetrics": [{"Namespace": "N", "Dimensions": [["d"]], "Metrics": [{"Name": "m"}]}]}, '
    lines = [told + '"d": "one"}', told + '"d": "two"}', told + '"d": "one"}', '{"message": "m"}', "Traceback"]
    (tmp_path / "Edge.log").write_text("\n".join(lines))
    assert metrics(tmp_path) == {"N m d=one", "N m d=two"}


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux alone counts so")
def test_a_process_that_works_takes_processor_time() -> None:
    before = processor_seconds([os.getpid()])
    sum(number * number for number in range(200_000))
    assert processor_seconds([os.getpid()]) > before


def test_the_endpoint_is_compared_with_what_its_requests_cost_in_the_counter() -> None:
    measured = Measured({"short": TAKEN, "8 images": TAKEN}, OWN, {"Edge": 70}, {"Edge": 512}, alarms=0, metrics=0)
    text = " ".join(section(measured).split())
    month = PRICES["SageMaker, ml.g6.xlarge, an hour"] * 730
    assert f"${month:.0f} a month" in text
    assert f"counting {month / bill(TAKEN, OWN)['counter']:,.0f} million of them a month" in text
