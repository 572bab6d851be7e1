"""The web page of the service: the jobs, one job as it runs, the workers, and sign-in.

Everything works without JavaScript; with it, a job is followed live.
"""
