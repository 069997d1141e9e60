"""What is asked of DynamoDB through the meter is answered as without it, and counted by the engine's own units."""

import pytest
from botocore.exceptions import ClientError

from bench.consumed import metered
from local import aws
from local.stack import ROOT
from local.template import Template
from tokencount.adapters.dynamodb import to_item

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]


def test_units_are_counted_of_the_table_and_its_index_and_answers_and_errors_pass(engine: str) -> None:
    properties = dict(Template(ROOT / "template.yaml").resources("AWS::DynamoDB::Table"))["RequestsTable"]
    with metered(engine) as (url, units):
        database = aws.session().client("dynamodb", endpoint_url=url, config=aws.DIRECT)
        aws.create_table(database, "MeteredTable", properties)
        try:
            item = to_item({"id": "req_1", "project": "prj_1", "status": 200})
            database.put_item(TableName="MeteredTable", Item=item)
            # One for the table and one for the index of all projects.
            assert units.take() == {"writes": 2, "calls": 1, "put": 2 + 5 + 7 + 5 + 6 + 2 + 3}
            found = database.get_item(TableName="MeteredTable", Key=to_item({"id": "req_1"}), ConsistentRead=True)
            assert found["Item"] == item
            assert units.take() == {"reads": 1, "calls": 1, "put": 0}
            with pytest.raises(ClientError, match="ConditionalCheckFailed"):
                database.update_item(
                    TableName="MeteredTable",
                    Key=to_item({"id": "req_2"}),
                    UpdateExpression="SET input_tokens = :tokens",
                    ConditionExpression="attribute_exists(id)",
                    ExpressionAttributeValues=to_item({":tokens": 1}),
                )
            assert units.take() == {"writes": 1, "calls": 1, "put": 0}
        finally:
            database.delete_table(TableName="MeteredTable")
