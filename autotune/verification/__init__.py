"""Does a recommendation still hold?"""
