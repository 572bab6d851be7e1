"""The REST service; not part of this version yet."""
