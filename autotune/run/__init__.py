"""autotune.run."""
