"""autotune.script."""
