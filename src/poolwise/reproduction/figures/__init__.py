"""A file for each figure of the paper."""
