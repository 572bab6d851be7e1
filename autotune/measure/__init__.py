"""autotune.measure."""
