"""What the template's alarms and dashboard ask CloudWatch for."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric that is asked for; of a search, dimensions have no values."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str | None]]

    @property
    def by(self) -> frozenset[str]:
        """The names of its dimensions."""
        return frozenset(name for name, _ in self.dimensions)


def text(value: Any) -> str:
    """A value in which intrinsic functions stand for themselves."""
    match value:
        case {"Fn::Sub": str(inner)} | {"Ref": str(inner)}:
            return inner
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
    return str(value)


def of_alarm(alarm: dict[str, Any]) -> Iterator[Asked]:
    """Every metric that an alarm watches."""
    stats = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each]
    for metric in stats or [alarm]:
        dimensions = {each["Name"]: text(each["Value"]) for each in metric.get("Dimensions", [])}
        yield Asked(text(metric["Namespace"]), metric["MetricName"], frozenset(dimensions.items()))


def widgets(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """The widgets of a dashboard, its variables in place but for those of CloudFormation."""
    body, variables = dashboard["DashboardBody"]["Fn::Sub"]
    for name, value in variables.items():
        body = body.replace(f"${{{name}}}", text(value))
    found: list[dict[str, Any]] = json.loads(body)["widgets"]
    return found


def of_dashboard(dashboard: dict[str, Any]) -> Iterator[Asked]:
    """Every metric that a dashboard shows."""
    for widget in widgets(dashboard):
        for metric in widget["properties"].get("metrics", []):
            yield from _searched(metric[0]["expression"]) if isinstance(metric[0], dict) else [_listed(metric)]


def _listed(metric: list[Any]) -> Asked:
    namespace, name, *rest = [each for each in metric if isinstance(each, str)]
    return Asked(namespace, name, frozenset(zip(rest[::2], rest[1::2], strict=True)))


def _searched(expression: str) -> Iterator[Asked]:
    """What a search may find: `SEARCH('{namespace,dimension…} MetricName=("a" OR "b") …', 'statistic')`."""
    schema, names = r"(?P<schema>[^}]*(?:\$\{[^}]*\}[^}]*)?)", r"(?P<names>\([^)]*\)|\"\w+\")"
    found = re.fullmatch(rf"SEARCH\('\{{{schema}\}} MetricName={names}[^']*', '\w+'\)", expression)
    assert found, expression
    namespace, *dimensions = found["schema"].replace('"', "").split(",")
    for name in re.findall(r'"(\w+)"', found["names"]):
        yield Asked(namespace, name, frozenset((each, None) for each in dimensions))
