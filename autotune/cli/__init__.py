"""autotune.cli."""
