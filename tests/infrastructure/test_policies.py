"""What each role may do, in full and with a reason each: a right more or less is a change of docs/security.md.

The roles are those of the translated template, whatever its conditions: what hangs on one has a heading of its own.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.infrastructure.artifacts import ROOT

pytestmark = pytest.mark.sam

COUNTER_HANDLER = "counter.handler.handler"
# An action and a resource, as they stand in a row.
Right = tuple[str, str]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named(resource: Any) -> str:
    match resource:
        case {"Ref": str(name)} | {"Fn::Sub": str(name)} | {"Fn::Sub": [str(name), _]} | str(name):
            return name
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            return name
    raise AssertionError(f"the tables have no name for {resource}")


def allowed(statement: dict[str, Any]) -> Iterator[Right]:
    # What hangs on a condition of the template is a policy of its own, with no `Fn::If`; nothing is denied.
    assert statement["Effect"] == "Allow"
    assert not {"NotAction", "NotResource"} & statement.keys()
    keys = [f" if `{key}`" for each in statement.get("Condition", {}).values() for key in each]
    for action in listed(statement["Action"]):
        for resource in listed(statement["Resource"]):
            yield f"`{action}`", "".join([f"`{named(resource)}`", *keys])


def granted(resources: dict[str, Any]) -> Iterator[tuple[str, Right]]:
    """Heading and row of every right of every role."""
    for name, item in resources.items():
        properties = item.get("Properties", {})
        if item["Type"] == "AWS::IAM::Role":
            at = heading(name, item, resources)
            for arn in properties.get("ManagedPolicyArns", []):
                yield at, (f"`{named(arn).rsplit('/', 1)[1]}`", "managed by AWS")
            policies = properties.get("Policies", [])
            yield from ((at, right) for p in policies for s in p["PolicyDocument"]["Statement"] for right in allowed(s))
        elif item["Type"] == "AWS::IAM::Policy":
            for role in properties["Roles"]:
                at = heading(role["Ref"], item, resources)
                yield from ((at, right) for s in properties["PolicyDocument"]["Statement"] for right in allowed(s))
        else:
            assert not item["Type"].startswith("AWS::IAM::"), f"{name} is not looked into"


def heading(role: str, gives: dict[str, Any], resources: dict[str, Any]) -> str:
    [trust] = resources[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert (trust["Action"], trust["Principal"].keys()) == ("sts:AssumeRole", {"Service"})
    where = f", where `{gives['Condition']}` holds" if "Condition" in gives else ""
    return f"`{role}`, assumed by `{trust['Principal']['Service']}`{where}"


def of_a_model(resources: dict[str, Any]) -> re.Pattern[str]:
    """What the names of a model's resources start with; all models have the same rights."""
    functions = {
        name: item["Properties"] for name, item in resources.items() if item["Type"] == "AWS::Lambda::Function"
    }
    models = [name.removesuffix("Counter") for name, own in functions.items() if own["Handler"] == COUNTER_HANDLER]
    return re.compile("|".join(models))


def tables() -> dict[str, dict[Right, str]]:
    """Rows and their reasons by the heading they stand under."""
    found: dict[str, dict[Right, str]] = {}
    text = (ROOT / "docs" / "security.md").read_text("utf-8").partition("\n## Rights\n")[2].partition("\n## ")[0]
    for section in text.split("\n### ")[1:]:
        title, *lines = section.splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
        found[title] = {(action, resource): why for action, resource, why in rows}
        assert len(found[title]) == len(rows), f"a row stands twice under {title}"
    return found


def test_a_role_may_do_what_stands_in_docs_security_and_nothing_else(deployed: dict[str, Any]) -> None:
    model = of_a_model(deployed)
    found: dict[str, set[Right]] = {}
    for at, (action, resource) in granted(deployed):
        found.setdefault(model.sub("Model", at), set()).add((action, model.sub("Model", resource)))
    documented = tables()
    assert found.keys() == documented.keys()
    for title, rights in found.items():
        assert rights == documented[title].keys(), title


def test_every_right_has_its_reason() -> None:
    assert all(why.strip() for rights in tables().values() for why in rights.values())


def test_a_right_to_every_resource_says_why_it_has_no_narrower_one() -> None:
    for rights in tables().values():
        for (_, resource), why in rights.items():
            if resource.startswith("`*`"):
                assert "no resource" in why or "one namespace" in why


def test_every_function_has_one_of_these_roles_and_none_that_sam_makes(deployed: dict[str, Any]) -> None:
    roles = {
        item["Properties"]["Role"]["Fn::GetAtt"][0]
        for item in deployed.values()
        if item["Type"] == "AWS::Lambda::Function"
    }
    assert roles == {"EdgeRole", "CounterRole", "RecorderRole"}
