"""Runs events and recordings through the service and says whether each answer is the expected one; compares layers."""
