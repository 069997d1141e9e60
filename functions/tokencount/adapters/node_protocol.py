"""What edge and counter say to each other beside the body: names of one route and two headers."""

COUNT_PATH = "/v1/infer/v1/messages/count_tokens"
# The edge's word for whom it asks.
NODE_TOKEN_HEADER = "x-b3os-node-token"  # noqa: S105 - the header's name
# What the counter adds to the request's record, as a JSON object of the record's own fields; never sent to a client.
DETAILS_HEADER = "x-b3os-details"
