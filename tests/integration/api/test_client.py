"""The client without the service."""

from __future__ import annotations

import subprocess
import sys

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
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == """ServiceUnreachable [b'{"workload":"digits"}']\n"""
