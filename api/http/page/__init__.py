"""The web page of the service: the jobs, a form for a new one, one job as it runs, and sign-in.

Each route calls one function of the service's core and shapes what it returns into a frozen view,
which a template renders: `listing`, `form` and `job` hold the views, `routes` and `entering` the
routes. Everything works without JavaScript; with it, a job is followed live.
"""
