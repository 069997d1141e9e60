"""The function that counts for one model."""
