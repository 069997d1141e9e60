"""The function behind API Gateway: credentials, routing and the request log."""
