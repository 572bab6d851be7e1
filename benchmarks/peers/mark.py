"""How a timed program and whoever reads its output understand each other."""

MARK = "examples per second: "
"""Begins the line that tells the speed of a window; programs may print other lines."""
