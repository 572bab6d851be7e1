"""The values that the service and its clients exchange: `jobs`, their `events`, and `errors`."""
