"""Does nothing, for ever, and does not let itself be asked to end."""

import signal
import time


def main(*_: object, **__: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1000)
