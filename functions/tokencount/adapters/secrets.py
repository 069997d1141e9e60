"""Secrets Manager."""

import boto3


def read_secret(name: str) -> str:
    """The text of a secret, by its name or ARN. Raises botocore's errors."""
    return boto3.client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
