"""Puts what was found into sentences; nothing that decides imports this."""
