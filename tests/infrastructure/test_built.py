"""The built artifacts are loaded as Lambda loads them: from their folders alone, with nothing of the repository."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore import xform_name

from local import aws
from local.template import Template
from tests.infrastructure.artifacts import ROOT, Artifacts

LOAD = """
import importlib, json, sys
module, name = sys.argv[1].rsplit(".", 1)
handler = getattr(importlib.import_module(module), name)
origins = sorted({getattr(module, "__file__", None) or "" for module in sys.modules.values()})
print(json.dumps({"callable": callable(handler), "modules": sorted(sys.modules), "origins": origins}))
"""
# Where a client goes, by region: of the standard partition, of another, and one not yet known.
CLIENTS = """
import json, sys
from botocore.session import Session
clients = {}
for service in sys.argv[1:]:
    for region in ("us-east-1", "eu-central-1", "cn-north-1", "xx-new-1"):
        client = Session().create_client(service, region, aws_access_key_id="a", aws_secret_access_key="b")
        clients[f"{service} {region}"] = [client.meta.endpoint_url, client.meta.service_model.metadata]
print(json.dumps(clients))
"""
WHOLE = Path(botocore.__file__).with_name("data")
PARTS = ("operations", "shapes")
# Run on an operator's machine, as is what reads recordings; it has the whole package.
AT_HOME = {"bootstrap.py", "accounts.py"}
REPLAY = {"s3.GetObject"}
FUNCTIONS = sorted(Template(ROOT / "template.yaml").functions)
# What would lengthen a cold start, of any function and of each. A counter asks AWS only after the keys were changed,
# for an image by url, or where it has an endpoint.
NEVER = (
    *("boto3", "s3transfer", "multiprocessing", "requests", "h11", "flask"),
    *("PIL", "numpy", "transformers", "huggingface_hub", "torch"),
)
WEB = ("fastapi", "starlette", "mangum", "pydantic", "pydantic_core", "anyio", "asyncio", "opentelemetry")
COUNTING = ("jinja2", "markupsafe", "tokenizers", "fastokens", "pybase64")
NOT_IMPORTED = {
    "edge.handler.handler": (*NEVER, *WEB, *COUNTING, "counter", "tokencount.adapters.recordings"),
    "counter.handler.handler": (*NEVER, "botocore.session", "botocore.client", "urllib3", "edge"),
    "recorder.handler.handler": (*NEVER, *WEB, *COUNTING, "edge", "counter", "jwt"),
}


@pytest.mark.parametrize("folder", ["functions", "layers/runtime", "layers/qwen3.5-9b"])
def test_an_artifact_is_made_by_the_project_s_python_whatever_the_outer_make_was_given(folder: str) -> None:
    command = ["make", "--dry-run", "-C", str(ROOT / folder), "build-any", "PYTHON=/elsewhere"]
    variables = {"PATH": os.environ["PATH"], "ARTIFACTS_DIR": "into", "BUILD_FOR": "host"}
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    assert str(ROOT / ".venv") in done.stdout
    assert "/elsewhere" not in done.stdout


@pytest.fixture(params=FUNCTIONS)
def loaded(
    request: pytest.FixtureRequest, template: Template, artifacts: Artifacts, services: tuple[str, str]
) -> tuple[str, dict[str, Any]]:
    """A function's handler, and what its module brought with it in a fresh interpreter."""
    function = template.functions[request.param]
    environment = artifacts.environment(function) | aws.endpoint_variables(services[0], services[0])
    return function.handler, load(function.handler, artifacts, environment)


def load(handler: str, artifacts: Artifacts, environment: dict[str, str]) -> dict[str, Any]:
    # -S leaves out site-packages, -P the working directory.
    command = [sys.executable, "-S", "-P", "-c", LOAD, handler]
    done = subprocess.run(command, cwd=artifacts.task, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_the_handler_that_the_template_names_is_in_the_artifact(loaded: tuple[str, dict[str, Any]]) -> None:
    _, facts = loaded
    assert facts["callable"]
    assert not [origin for origin in facts["origins"] if origin.startswith(str(ROOT))]


def test_a_handler_imports_nothing_that_a_cold_start_need_not_wait_for(loaded: tuple[str, dict[str, Any]]) -> None:
    handler, facts = loaded
    late = NOT_IMPORTED[handler]
    assert [module for module in facts["modules"] if f"{module}.".startswith(tuple(f"{name}." for name in late))] == []


def test_the_layer_describes_what_the_functions_call_and_nothing_else(artifacts: Artifacts) -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "functions").rglob("*.py") if path.name not in AT_HOME]
    services = {name for source in sources for name in re.findall(r'\bclient\("([a-z0-9-]+)"', source)}
    wholes = {service: description(WHOLE, service) for service in services}
    called = {
        f"{service}.{operation}"
        for service, whole in wholes.items()
        for operation in whole["operations"]
        if any(re.search(rf"\.{xform_name(operation)}\b", source) for source in sources)
    } - REPLAY
    data = artifacts.root / "runtime" / "python" / "botocore" / "data"
    assert {path.name for path in data.iterdir() if path.is_dir()} == services
    builts = {service: description(data, service) for service in services}
    assert called == {f"{service}.{name}" for service, built in builts.items() for name in built["operations"]}
    for service, built in builts.items():
        whole = wholes[service]
        assert built == whole | {part: {name: whole[part][name] for name in built[part]} for part in PARTS}
        assert set(re.findall(r'"shape": "(\w+)"', json.dumps(built))) == built["shapes"].keys()


def test_the_layers_clients_ask_where_those_of_the_whole_package_ask(template: Template, artifacts: Artifacts) -> None:
    asked = ["dynamodb", "lambda", "s3", "sagemaker-runtime", "secretsmanager", "sqs"]
    environment = artifacts.environment(template.functions["EdgeFunction"])
    whole, built = (
        json.loads(subprocess.run([*command, "-c", CLIENTS, *asked], env=env, check=True, capture_output=True).stdout)
        for command, env in (([sys.executable], os.environ), ([sys.executable, "-S", "-P"], environment))
    )
    assert len(whole) == len(asked) * 4
    assert built == whole


def description(data: Path, service: str) -> dict[str, Any]:
    """botocore's newest of a service, without documentation."""
    *_, path = sorted(data.glob(f"{service}/*/service-2.json.gz"))

    def bare(item: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in item.items() if key != "documentation" or not isinstance(value, str)}

    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()), object_hook=bare)
    return found


def test_a_counter_with_an_endpoint_has_its_client_loaded_at_the_start(
    template: Template, artifacts: Artifacts
) -> None:
    function = next(each for each in template.functions.values() if each.handler == "counter.handler.handler")
    environment = artifacts.environment(function) | {"ENDPOINT_NAME": "some-endpoint"}
    facts = load(function.handler, artifacts, environment)
    assert facts["callable"]
    assert {"botocore.client", "tokencount.adapters.endpoint"} <= set(facts["modules"])


def test_an_edge_that_records_events_has_its_client_loaded_at_the_start(
    template: Template, artifacts: Artifacts, services: tuple[str, str]
) -> None:
    function = template.functions["EdgeFunction"]
    environment = artifacts.environment(function) | aws.endpoint_variables(services[0], services[0])
    facts = load(function.handler, artifacts, environment | {"RECORDINGS": "s3://some-bucket"})
    assert facts["callable"]
    assert "tokencount.adapters.recordings" in facts["modules"]
    assert not [origin for origin in facts["origins"] if origin.startswith(str(ROOT))]


def test_a_counter_finds_in_its_artifact_what_it_imports_for_the_first_image_by_url(
    template: Template, artifacts: Artifacts
) -> None:
    function = next(each for each in template.functions.values() if each.handler == "counter.handler.handler")
    facts = load("counter.remote_images.build", artifacts, artifacts.environment(function))
    assert facts["callable"]
    assert {"botocore.client", "certifi", "h11", "idna"} <= set(facts["modules"])
    assert not [origin for origin in facts["origins"] if origin.startswith(str(ROOT))]


def test_the_edges_list_of_models_is_made_of_the_built_layers(template: Template, artifacts: Artifacts) -> None:
    listed = json.loads((artifacts.task / "edge" / "models.json").read_bytes())
    models = [
        json.loads((layer / "model" / "model.json").read_bytes())
        for function in template.functions.values()
        for layer in artifacts.layers(function)
        if (layer / "model").exists()
    ]
    assert {name: model["tokenizer_revision"] for name, model in listed.items()} == {
        model["id"]: model["tokenizer_revision"] for model in models
    }
