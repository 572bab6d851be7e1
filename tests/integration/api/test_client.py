"""The client without the service."""

from __future__ import annotations

from pathlib import Path

from tests.running import python

SERVER = ("fastapi", "starlette", "uvicorn", "sqlmodel", "alembic", "psycopg", "prometheus_client")
WITHOUT = f"""
import sys
for each in {SERVER}: sys.modules[each] = None
import httpx2
from autotune import Client, Needs
asked = []
def answer(request):
    asked.append(request.content)
    return httpx2.Response(503)
try:
    Client("http://x", patience=0, transport=httpx2.MockTransport(answer)).submit("digits")
except Exception as error:
    print(type(error).__name__, asked)
"""


def test_the_client_needs_none_of_the_service_s_packages() -> None:
    assert python(Path(), "-c", WITHOUT) == """ServiceUnreachable [b'{"workload":"digits"}']\n"""
