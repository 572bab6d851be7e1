"""autotune.strategies."""
