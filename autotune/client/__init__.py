"""A client of the service: asks for jobs, follows them, and returns their results."""

from autotune.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
