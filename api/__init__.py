"""The service: tuning jobs that survive crashes, kept in a database and run by workers.

`jobs` is what a route calls, `work` is what a worker runs, `store` is the only part that speaks
SQL, and `http` the only one that knows HTTP. Nothing is imported here, because `import autotune`
must stay quick.
"""
