"""The built artifacts answer the event files under Lambda's real runtime client and interface emulator."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from local import aws
from local.template import Template
from replay.events import read_event
from replay.expected import differences
from tests.infrastructure.artifacts import ROOT, Artifacts
from tests.infrastructure.emulator import Emulator, find_emulator, invoke_api
from tests.support.metrics import lines, measured

# One emulator a function for the whole run.
pytestmark = [pytest.mark.sam, pytest.mark.xdist_group("emulated")]

ANSWER = ("edge.handler.handler", "counter.handler.handler")
EVENTS = sorted((ROOT / "events").glob("*.json"))


class EmulatedEdge:
    """The edge function between emulated counters and a stand-in for AWS."""

    def __init__(self, edge: Emulator, api_key: str, logs: Path) -> None:
        self.api_key = api_key
        self.logs = logs
        self._edge = edge

    def send(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to an event: status, headers in lower case, the body parsed."""
        answer = json.loads(self._edge.invoke(json.dumps(event).encode()))
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        return {"statusCode": answer["statusCode"], "headers": headers, "body": json.loads(answer["body"])}

    def recorded(self) -> str:
        """The id of a request that was counted just now."""
        event = read_event(ROOT / "events" / "count-text.json").filled(self.api_key, str)
        return str(self.send(event)["headers"]["x-request-id"])


@pytest.fixture(scope="module")
def edge(
    template: Template,
    artifacts: Artifacts,
    services: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EmulatedEdge]:
    if find_emulator() is None:
        pytest.skip("the runtime interface emulator runs on Linux, and comes with make .venv-sam/installed")
    endpoint, api_key = services
    logs = tmp_path_factory.mktemp("emulated")
    emulators: dict[str, Emulator] = {}
    with ExitStack() as ending:
        invoke = ending.enter_context(invoke_api(emulators))
        variables = aws.endpoint_variables(endpoint, invoke)
        for name, function in template.functions.items():
            if function.handler in ANSWER:
                emulators[name] = Emulator(function, artifacts, variables, logs / f"{name}.log")
                ending.callback(emulators[name].close)
        yield EmulatedEdge(emulators["EdgeFunction"], api_key, logs)


@pytest.mark.parametrize("path", EVENTS, ids=[path.stem for path in EVENTS])
def test_the_built_functions_give_the_answer_stored_beside_the_event(edge: EmulatedEdge, path: Path) -> None:
    event = read_event(path)
    answer = edge.send(event.filled(edge.api_key, edge.recorded))
    compared = {name: value for name, value in answer["headers"].items() if name in event.expected["headers"]}
    assert list(differences(event.expected, answer | {"headers": compared})) == []


def test_every_line_that_a_function_logs_names_its_request_and_none_holds_content_or_key(edge: EmulatedEdge) -> None:
    request_id = edge.recorded()
    told = 0
    for written in [log.read_text("utf-8") for log in edge.logs.glob("*.log")]:
        lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
        told += request_id in {line["request_id"] for line in lines}
        assert "How many tokens is this?" not in written
        assert edge.api_key not in written
    # The edge and the counter of the event's model.
    assert told == 2


def test_each_function_writes_one_line_of_metrics_a_request(edge: EmulatedEdge, template: Template) -> None:
    request_id = edge.recorded()
    namespace = template.functions["EdgeFunction"].environment["POWERTOOLS_METRICS_NAMESPACE"]
    written = [line for log in edge.logs.glob("*.log") for line in lines(log.read_text("utf-8"))]
    told = {line["service"]: line for line in written if line["request_id"] == request_id}
    assert [line["request_id"] for line in written].count(request_id) == len(told) == 2
    assert told.keys() > {"edge"}
    for line in told.values():
        assert {directive["Namespace"] for directive in line["_aws"]["CloudWatchMetrics"]} == {namespace}
        assert {"Answers", "Faults"} < {each.name for each in measured(line)}
