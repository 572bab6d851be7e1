"""Raises an error of the user's."""


def main(*_: object, **__: object) -> None:
    """Fail."""
    msg = "the labels are upside down"
    raise ValueError(msg)
