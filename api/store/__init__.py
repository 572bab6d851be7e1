"""The only part with SQL: it guarantees the same on SQLite and on PostgreSQL.

Every write to a job is one UPDATE of its row that checks the state, and the attempt where an
attempt writes, and that hands out the numbers of the events which are then added. The row's lock
orders the writers. Locks are always taken in one order: devices, then job.
"""
