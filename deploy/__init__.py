"""What `make deploy` and `make bootstrap` do besides the SAM CLI."""
