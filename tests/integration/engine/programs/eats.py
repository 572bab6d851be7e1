"""Takes more and more memory."""


def main(*_: object, **__: object) -> None:
    """Take 16 MB at a time, and touch them."""
    held = []
    while True:
        held.append(bytearray(b"x" * (16 << 20)))
