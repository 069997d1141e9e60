"""The service under test, wherever it runs."""

from local.sam import SamLocal
from local.stack import Stack

# Both have `url`, `api_key`, `pat`, `session`, `aws_url` and `models`.
Server = Stack | SamLocal
