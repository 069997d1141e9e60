"""The OpenAPI document of the HTTP contract, made of the code's own facts: `python -m docs.openapi` writes it."""
