"""The service: tuning jobs that survive crashes, kept in a database and run by workers.

This package is its core and knows no HTTP. `jobs` is what a route calls, `work` is what a worker
runs, `store` is the only part that speaks SQL. Nothing is imported here, because `import autotune`
must stay quick.
"""
