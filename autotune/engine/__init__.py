"""Runs trials. Nothing is imported here: a trial's own process must stay free of what it lacks."""
