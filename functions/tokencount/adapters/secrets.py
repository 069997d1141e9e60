"""Secrets Manager."""

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.aws import client
from tokencount.adapters.node_tokens import KeysUnavailable, NodeKeys

# A request waits for it, and can do without while the keys that are known are good.
_CONFIG = Config(read_timeout=1, connect_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})


class NodeKeySecret:
    """The secret that holds the keys of node tokens, by its name or ARN."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._client = client("secretsmanager", _CONFIG)

    def read(self) -> NodeKeys:
        """The keys as they are now.

        Raises:
            KeysUnavailable: there is no answer, or what is there are no keys.
        """
        try:
            text = self._client.get_secret_value(SecretId=self._name)["SecretString"]
        except (BotoCoreError, ClientError, KeyError) as error:
            raise KeysUnavailable("the node-token secret cannot be read") from error
        return NodeKeys.parse(text)
