"""What stands in for AWS: moto's server with the tables, queues and secret of template.yaml, and a first account."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config

from local.errors import StackError
from local.port import HOST
from local.process import needed_environment
from local.queues import create_queues
from local.template import PSEUDO, Template
from tokencount.adapters.accounts import Accounts
from tokencount.bootstrap import FirstCredentials, start

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DIRECT = Config(proxies={})
TABLE_PROPERTIES = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")


@contextmanager
def moto(log: Path, host: str = HOST) -> Iterator[str]:
    """moto's server, empty, on an address of this machine; its URL."""
    script = Path(__file__).with_name("moto_process.py")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", str(script), host],
            env=needed_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            start_new_session=True,
        )
    with process:
        try:
            assert process.stdout
            if not (url := process.stdout.readline().strip()):
                raise StackError(f"the stand-in for AWS (moto) does not start: see {log}")
            yield url
        finally:
            process.kill()


def provision(template: Template, endpoint: str, dynamodb: str | None = None) -> FirstCredentials:
    """Create what the template describes there, and the first account; returns its credentials.

    Args:
        dynamodb: where the tables go instead.
    """
    database = session().client("dynamodb", endpoint_url=dynamodb or endpoint, config=DIRECT)
    for name, properties in template.resources("AWS::DynamoDB::Table"):
        create_table(database, name, template.resolve(properties))
    create_queues(template, session().client("sqs", endpoint_url=endpoint, config=DIRECT))
    vault = session().client("secretsmanager", endpoint_url=endpoint, config=DIRECT)
    for name, text in template.secrets.items():
        vault.create_secret(Name=name, SecretString=text)
    first = start(Accounts(database, "CredentialsTable"), datetime.now(UTC))
    assert first  # the table is new
    return first


def session() -> boto3.Session:
    """Whoever asks is the same here."""
    # AWS_PROFILE may name one that is not here.
    anyone = botocore.session.Session({"profile": (None, None, None, None)})
    return boto3.Session("local", "local", region_name=PSEUDO["AWS::Region"], botocore_session=anyone)


def create_table(database: "DynamoDBClient", name: str, properties: Mapping[str, Any]) -> None:
    """Create a table as the template's resolved properties say."""
    database.create_table(TableName=name, **{key: properties[key] for key in TABLE_PROPERTIES if key in properties})
    if ttl := properties.get("TimeToLiveSpecification"):
        database.update_time_to_live(TableName=name, TimeToLiveSpecification=ttl)


def endpoint_variables(endpoint: str, invoke: str, dynamodb: str | None = None) -> dict[str, str]:
    """Where botocore in a function finds each service."""
    services = {"DYNAMODB": dynamodb or endpoint, "SECRETS_MANAGER": endpoint, "SQS": endpoint, "LAMBDA": invoke}
    return {f"AWS_ENDPOINT_URL_{service}": url for service, url in services.items()}
