"""The service over HTTP: thin routes, each of which calls one function of the service's core.

`app` puts it together, `access` authorises callers, `problems` says how an error is answered.
Only this package knows FastAPI.
"""
