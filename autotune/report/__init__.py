"""autotune.report."""
