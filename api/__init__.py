"""The service: tuning jobs that survive crashes, kept in a database and run by workers.

`work` is what a worker runs, `store` the only part that speaks SQL, and `http` the only one that
knows HTTP. Nothing is imported here, because `import autotune` must stay quick.
"""
