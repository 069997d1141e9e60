"""Runs the events of `events/` through the service and says whether each answer is the expected one."""
