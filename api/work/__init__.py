"""What a worker does: it claims a job, runs its search in a child process, and guards both."""
