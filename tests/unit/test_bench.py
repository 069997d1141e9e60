"""Figures are taken in turn, summed up by what the middle half lies between, and put where the last ones stood."""

import random

import pytest

from bench.report import replace_section, table
from bench.samples import Spread, interleaved, ratios
from bench.texts import agent, body
from bench.whole import parts


def test_a_spread_is_the_median_and_the_quartiles() -> None:
    assert Spread.of([5, 1, 4, 2, 3]) == Spread(3, 2, 4)
    assert Spread.of([1, 3]).show(1) == "2.0 (1.5 to 2.5)"


def test_every_round_has_every_way_once_after_one_that_is_not_timed() -> None:
    done: list[str] = []
    seconds = interleaved({name: lambda name=name: done.append(name) for name in "abc"}, 20)  # type: ignore[misc]
    assert {name: len(taken) for name, taken in seconds.items()} == {"a": 20, "b": 20, "c": 20}
    rounds = [done[start : start + 3] for start in range(0, len(done), 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_a_way_may_be_gone_several_times_in_a_row() -> None:
    done: list[str] = []
    ways = {name: lambda name=name: done.append(name) for name in "ab"}
    assert {name: len(taken) for name, taken in interleaved(ways, 3, in_a_row=2).items()} == {"a": 3, "b": 3}
    rows = [done[start : start + 2] for start in range(2, len(done), 2)]
    assert sorted(rows) == [["a", "a"]] * 3 + [["b", "b"]] * 3


def test_a_ratio_is_of_times_of_the_same_round() -> None:
    assert ratios({"own": [1, 2, 4], "other": [2, 4, 8]}, "own", "other") == Spread(2, 2, 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# A\n", "# A\n\n## T\n\nnew\n"),
        ("# A\n\n## T\n\nold\n", "# A\n\n## T\n\nnew\n"),
        ("# A\n\n## T\n\nold\n\n## U\n\nu\n", "# A\n\n## T\n\nnew\n\n## U\n\nu\n"),
        ("# A\n\n## U\n\nu\n", "# A\n\n## U\n\nu\n\n## T\n\nnew\n"),
    ],
)
def test_a_section_takes_the_place_of_the_one_of_its_name(before: str, after: str) -> None:
    assert replace_section(before, "T", "\nnew\n") == after


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_parts_of_a_request_add_up_to_what_its_client_waited_for() -> None:
    phases = {"edge_auth": 2.0, "edge_upstream": 9.0, "parse": 1.0, "render": 2.0, "encode": 3.0, "total": 15.0}
    timing = parts(20.0, phases)
    assert timing.pop("all") == 20.0
    assert timing["invoke and answer"] == 3.0
    assert sum(timing.values()) == 20.0


def test_text_that_is_to_be_unseen_is_another_each_time_and_the_same_in_each_run() -> None:
    dice = random.Random(0)
    first, second = agent(dice, 1000), agent(dice, 1000)
    assert first != second
    assert body("m", agent(random.Random(0), 1000)) == body("m", first)
