"""What past searches measured, kept for the next one.

Nothing is imported here: where the database is can be said without it, and SQLModel is slow.
"""
