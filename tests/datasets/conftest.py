"""The server and its archives."""

from serving import pack, server

__all__ = ["pack", "server"]
