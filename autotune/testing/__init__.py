"""autotune.testing."""
