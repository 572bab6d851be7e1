"""A static reader of Python: the names, values and functions of a module, by its text."""
