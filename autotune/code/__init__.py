"""What the text of a module tells of its names, values and functions."""
