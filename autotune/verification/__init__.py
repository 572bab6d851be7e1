"""Measurements beside a search: does a recommendation still hold, and how noisy is the machine?

Nothing is imported here, because trials import the workload of this folder by way of it.
"""
