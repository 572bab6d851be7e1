"""Events and results as text for people, and the one JSON document for machines.

What is reported while a search runs goes to whichever console it is given; nothing here is
imported by the processes that are timed.
"""

from autotune.report.card import card, links_table, machine_table
from autotune.report.checks import document, verification_text
from autotune.report.follow import all_of, terminal_report
from autotune.report.lines import PlainReport, TurnsReport
from autotune.report.live import LiveReport
from autotune.report.result import result_text
from autotune.report.spaces import space_list, space_text

__all__ = [
    "LiveReport",
    "PlainReport",
    "TurnsReport",
    "all_of",
    "card",
    "document",
    "links_table",
    "machine_table",
    "result_text",
    "space_list",
    "space_text",
    "terminal_report",
    "verification_text",
]
