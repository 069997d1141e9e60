"""The first credentials of a deployment: `python -m deploy.bootstrap`, which finds the table of the stack by itself."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from deploy import samconfig
from deploy.errors import DeployError
from tokencount import bootstrap
from tokencount.adapters.aws import client

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

OUTPUT = "CredentialsTable"


def credentials_table(cloudformation: "CloudFormationClient", stack: str) -> str:
    """The name of the credentials table, out of the stack's outputs.

    Raises:
        DeployError: the stack cannot be asked, or has no such output.
    """
    try:
        [described] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except (BotoCoreError, ClientError) as error:
        raise DeployError(f"the stack {stack} cannot be asked for its credentials table: {error}") from error
    outputs = {output["OutputKey"]: str(output["OutputValue"]) for output in described.get("Outputs", [])}
    if OUTPUT not in outputs:
        raise DeployError(f"the stack {stack} has no output {OUTPUT}: it is {described['StackStatus']}")
    return outputs[OUTPUT]


def main(arguments: list[str]) -> int:
    """The exit code of what starts the table, or 1 where the table is not found."""
    parser = argparse.ArgumentParser(prog="python -m deploy.bootstrap", description="Start a deployment's credentials.")
    parser.add_argument("--stack", help="by default the one that samconfig.toml names")
    parser.add_argument("--new", help="another credential, where the table was started already")
    options = parser.parse_args(arguments)
    try:
        deployment = samconfig.read()
        _stand_where_it_is_deployed(deployment)
        table = credentials_table(client("cloudformation"), options.stack or deployment.stack)
    except (BotoCoreError, DeployError) as refused:
        print(f"tokencount: {refused}", file=sys.stderr)
        return 1
    return bootstrap.main([table, *(["--new", options.new] if options.new else [])])


def _stand_where_it_is_deployed(deployment: samconfig.Deployment) -> None:
    for name, value in (("AWS_DEFAULT_REGION", deployment.region), ("AWS_PROFILE", deployment.profile)):
        if value:
            os.environ.setdefault(name, value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
