"""autotune.search."""
