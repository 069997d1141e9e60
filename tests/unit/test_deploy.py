"""What a deployment is asked and told before anything is sent to AWS."""

import struct
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber

from deploy import packages, samconfig
from deploy.bootstrap import credentials_table
from deploy.errors import DeployError
from deploy.samconfig import Deployment

TEMPLATE = """
Globals: {Function: {Layers: [!Ref RuntimeLayer], Timeout: 1, MemorySize: 128, Handler: a.b, CodeUri: ../../functions}}
Resources:
  EdgeFunction: {Type: "AWS::Serverless::Function", Properties: {CodeUri: EdgeFunction}}
  RuntimeLayer: {Type: "AWS::Serverless::LayerVersion", Properties: {ContentUri: RuntimeLayer}}
"""
AARCH64, X86_64 = 183, 62
Configured = Callable[[str], Path]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """Gives the path of a samconfig.toml with that text."""

    def write(text: str) -> Path:
        path = tmp_path / "samconfig.toml"
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """What `sam build` leaves, in small: a function of 10 bytes and a layer with a library for arm64."""
    for folder in ("EdgeFunction", "RuntimeLayer"):
        (tmp_path / folder).mkdir()
    (tmp_path / "template.yaml").write_text(TEMPLATE, "utf-8")
    (tmp_path / "EdgeFunction" / "handler.py").write_bytes(b"0123456789")
    library(tmp_path / "RuntimeLayer" / "some.cpython-313-aarch64-linux-gnu.so", AARCH64)
    return tmp_path


def library(path: Path, processor: int) -> None:
    path.write_bytes(struct.pack("<4s14xH", b"\x7fELF", processor))


def test_the_committed_settings_are_read() -> None:
    assert samconfig.read() == Deployment("tokencount", "arm64")


def test_what_the_sam_cli_writes_after_its_questions_is_read(configured: Configured) -> None:
    path = configured(
        """
        version = 0.1
        [default.global.parameters]
        profile = "production"
        [default.deploy.parameters]
        stack_name = "counting"
        region = "eu-central-1"
        parameter_overrides = "RecordDays=\\"7\\" Architecture=\\"x86_64\\""
        """
    )
    assert samconfig.read(path) == Deployment("counting", "x86_64", "eu-central-1", "production")


@pytest.mark.parametrize("text", ["", "version = 0.1\n[default.deploy.parameters]\nregion = 'eu-west-1'"])
def test_a_deployment_without_a_stack_is_asked_for_one(configured: Configured, text: str) -> None:
    with pytest.raises(DeployError, match="names no stack: make deploy GUIDED=1"):
        samconfig.read(configured(text))


def test_settings_that_are_no_toml_are_refused(configured: Configured) -> None:
    with pytest.raises(DeployError, match=r"samconfig\.toml cannot be read"):
        samconfig.read(configured("stack_name = "))


def test_a_function_is_weighed_with_its_layers(build: Path) -> None:
    [package] = packages.check(build, "arm64")
    assert (package.function, package.own, package.layers, package.unpacked) == ("EdgeFunction", 10, 20, 30)


def test_what_is_built_for_another_processor_is_not_deployed(build: Path) -> None:
    with pytest.raises(
        DeployError, match="RuntimeLayer is built for arm64 .* deployed for x86_64: make build ARCH=x86_64"
    ):
        packages.check(build, "x86_64")
    library(build / "EdgeFunction" / "other.so", X86_64)
    with pytest.raises(DeployError, match="EdgeFunction is built for x86_64"):
        packages.check(build, "arm64")


def test_what_lambda_would_not_unpack_is_not_uploaded(build: Path) -> None:
    with (build / "RuntimeLayer" / "model").open("wb") as file:
        # A sparse file: with the others it is one byte too many.
        file.truncate(packages.LAMBDA_BYTES - 30 + 1)
    with pytest.raises(DeployError, match=r"EdgeFunction has 250\.0 MB unpacked with its layers, and Lambda takes 250"):
        packages.check(build, "arm64")


def test_what_is_not_built_is_not_deployed(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="nothing is built: make build"):
        packages.check(tmp_path, "arm64")


@pytest.mark.parametrize(
    ("stack", "answer"),
    [
        ({"Outputs": [{"OutputKey": "CredentialsTable", "OutputValue": "t-1"}]}, "t-1"),
        ({"Outputs": [{"OutputKey": "Url", "OutputValue": "https://…"}]}, None),
        ({}, None),
    ],
)
def test_the_credentials_table_is_the_one_that_the_stack_tells(stack: dict[str, object], answer: str | None) -> None:
    client = boto3.client("cloudformation", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    described = {"StackName": "counting", "StackStatus": "ROLLBACK_COMPLETE", "CreationTime": "2026-01-01"} | stack
    with Stubber(client) as stubber:
        stubber.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": "counting"})
        if answer:
            assert credentials_table(client, "counting") == answer
        else:
            with pytest.raises(DeployError, match="no output CredentialsTable: it is ROLLBACK_COMPLETE"):
                credentials_table(client, "counting")


def test_a_stack_that_is_not_there_is_said_in_one_sentence() -> None:
    client = boto3.client("cloudformation", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    with Stubber(client) as stubber:
        stubber.add_client_error("describe_stacks", "ValidationError", "Stack with id counting does not exist")
        with pytest.raises(DeployError, match="counting cannot be asked for its credentials table: .* does not exist"):
            credentials_table(client, "counting")
