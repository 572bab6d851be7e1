"""Ways of proposing the next configuration that lost against the search's own.

They stay here so that `samplers.py` can compare them again, on these tables and on others.
"""
