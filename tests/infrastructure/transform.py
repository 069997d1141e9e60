"""Prints the CloudFormation template that SAM makes of a template: run by the SAM CLI's own interpreter.

    python transform.py template.yaml [LogicalId…]

Code and layers stand for uploaded ones, named by their logical id; those named on the command line have other content.
"""

import json
import sys
from pathlib import Path
from typing import Any

from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]
from samtranslator.translator.transform import transform  # type: ignore[import-not-found]


class NoManagedPolicies:
    """The template names managed policies by their ARNs alone."""

    def load(self) -> dict[str, str]:
        return {}


def main(path: str, *changed: str) -> None:
    template: dict[str, Any] = yaml_parse(Path(path).read_text("utf-8"))
    for name, resource in template["Resources"].items():
        kind = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
        if resource["Type"] in kind:
            uploaded = f"s3://bucket/{name}{'-changed' if name in changed else ''}"
            resource["Properties"][kind[resource["Type"]]] = uploaded
    print(json.dumps(transform(template, {}, NoManagedPolicies())))


if __name__ == "__main__":
    main(*sys.argv[1:])
