"""The search: the baseline first, then whatever may beat it, then finals and the verdict."""
