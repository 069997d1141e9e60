"""The whole service on one machine: glue around the real handlers, the real template and the real calls to AWS."""
