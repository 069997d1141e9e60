"""The container that counts image-heavy requests with the model's own processor; it never generates text."""
