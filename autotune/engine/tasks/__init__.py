"""What an engine can be asked to do, a file for each kind of task."""
