"""A file for each table of the paper."""
