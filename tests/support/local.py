"""A small project of two functions for the local stack: `Front` behind an API, `Inner` called by it with boto3."""

import http.client
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from local.stack import ROOT

TEMPLATE = """
Globals:
  Function:
    CodeUri: functions
    MemorySize: 128
    Timeout: 20
    AutoPublishAlias: live
Resources:
  Layer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: layers/model-a}}
  Inner:
    Type: AWS::Serverless::Function
    Properties:
      Handler: inner.handler
      Layers: [!Ref Layer]
      Environment:
        Variables:
          MODEL_DIR: /opt/model
          KEYS: !Sub "{{resolve:secretsmanager:${Secret}}}"
  Front:
    Type: AWS::Serverless::Function
    Properties:
      Handler: front.handler
      Environment: {Variables: {INNER: !Ref Inner.Alias, TABLE: !Ref Table, SECRET: !Ref Secret}}
      Events:
        Items: {Type: Api, Properties: {Method: ANY, Path: /items}}
        Item: {Type: Api, Properties: {Method: GET, Path: "/items/{id}"}}
        Rest: {Type: Api, Properties: {Method: GET, Path: "/items/{rest+}"}}
  Secret:
    Type: AWS::SecretsManager::Secret
    Properties: {GenerateSecretString: {SecretStringTemplate: '{"current": "first"}', GenerateStringKey: first}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}
      DeletionProtectionEnabled: true
  CredentialsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      GatewayResponses:
        REQUEST_TOO_LARGE:
          StatusCode: 413
          ResponseParameters: {Headers: {x-request-id: context.requestId, Retry-After: "'7'"}}
          ResponseTemplates: {application/json: '{"code":"payload_too_large","id":"$context.requestId"}'}
        DEFAULT_5XX:
          StatusCode: 500
          ResponseTemplates: {application/json: '{"code":"internal"}'}
"""

FRONT = """
import json, os, boto3
from botocore.config import Config

def boto(name):
    return boto3.client(name, config=Config(retries={"total_max_attempts": 1}))

def invoke(payload, size=0, **arguments):
    arguments = {"FunctionName": os.environ["INNER"], "Payload": payload or json.dumps("x" * size), **arguments}
    try:
        answer = boto("lambda").invoke(**arguments)
    except Exception as error:
        told = error.response
        return {"refused": told["Error"]["Code"], "status": told["ResponseMetadata"]["HTTPStatusCode"]}
    payload, error = json.loads(answer["Payload"].read()), answer.get("FunctionError")
    return {"payload": payload, "version": answer["ExecutedVersion"], "error": error}

def aws():
    boto("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": "1"}})
    return {"secret": boto("secretsmanager").get_secret_value(SecretId=os.environ["SECRET"])["SecretString"]}

def handler(event, context):
    body = event["body"] or ""
    asked = json.loads(body) if body.startswith('{"') else {}
    if "answer" in asked:
        return asked["answer"]
    result = invoke(**asked["invoke"]) if "invoke" in asked else aws() if "aws" in asked else event
    several = {"x-c": ["d", "e"]}
    return {"statusCode": 200, "headers": {"x-a": "b"}, "multiValueHeaders": several, "body": json.dumps(result)}
"""

INNER = """
import json, os, time

def handler(event, context):
    if event == "sleep":
        time.sleep(60)
    if event == "raise":
        raise ValueError("not this")
    return {"event": event, "model": os.environ["MODEL_DIR"], "keys": json.loads(os.environ["KEYS"])}
"""


def write_project(root: Path) -> Path:
    """The small project, its layer built."""
    files = {
        "template.yaml": TEMPLATE,
        "functions/front.py": FRONT,
        "functions/inner.py": INNER,
        "layers/model-a/manifest.toml": "",
        ".build/layers/model-a/model/model.json": '{"id": "test/a"}',
        "functions/edge/models.json": '{"test/a": {}}',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def clone(root: Path) -> Path:
    """This repository as far as the stack needs it, with a state folder of its own, and one model to start sooner."""
    shutil.copytree(ROOT / "local", root / "local")
    (root / ".build" / "layers").mkdir(parents=True)
    for name in ("functions", "layers", "template.yaml", ".build/layers/qwen3.5-9b"):
        (root / name).symlink_to(ROOT / name)
    return root


def connect(url: str) -> http.client.HTTPConnection:
    """A connection to the HTTP front."""
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)


def ask(client: http.client.HTTPConnection, body: object = None, path: str = "/items", method: str = "POST") -> Any:
    """The JSON of an answer."""
    client.request(method, path, json.dumps(body) if body else None)
    return json.loads(client.getresponse().read())


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
    return [int(pid) for pid, of in (line.split() for line in table.splitlines()) if int(of) == parent]


def runs(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
