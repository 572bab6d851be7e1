"""What goes over HTTP between the service and its clients: `jobs`, their `events`, and `errors`."""
