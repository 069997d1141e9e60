"""Counts the input tokens of an Anthropic Messages request exactly as the model that would answer it."""
