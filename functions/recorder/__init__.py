"""The function that writes the records which the requests table did not take at once."""
