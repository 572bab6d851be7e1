"""Makes the pages that follow from a declaration in the code, and reads the blocks of all pages.

It is no part of the package: `make docs` and the tests use it.
"""
