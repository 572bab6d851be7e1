"""The web page of the service: the jobs, a form for a new one, one job as it runs, and sign-in.

Everything works without JavaScript; with it, a job is followed live.
"""
