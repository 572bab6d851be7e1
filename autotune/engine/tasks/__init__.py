"""What an engine can be asked to do: a request, and the answer that is made of it."""
