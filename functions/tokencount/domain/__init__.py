"""What a count is: plain Python that knows no cloud, no framework and no environment."""
