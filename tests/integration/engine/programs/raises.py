"""Raises an error of the user's."""


def main(*_: object, **__: object) -> None:
    msg = "the labels are upside down"
    raise ValueError(msg)
