"""Runs jobs: a worker claims them, and each search runs in a process of its own.

The search is not in the worker: it has a network of its own, from which no database is reached;
one that crashes or hangs must not stop the lease's renewal; and a worker that lost its lease can
end it at once, whatever it does.
"""
