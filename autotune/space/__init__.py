"""autotune.space."""
