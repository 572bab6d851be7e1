"""The search: the yardstick first, then whatever may beat it, then finals and the verdict."""
