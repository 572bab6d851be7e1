"""What AUTOTUNE settles on, in real trainings."""
