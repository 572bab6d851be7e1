"""The service's benchmark: its table."""

from benchmarks.service.site import HEAD, Row, table


def test_a_missed_goal_is_seen_in_the_table() -> None:
    """So is a reached one; what has no goal has no word."""
    rows = [
        Row(what="a", measured="1 s"),
        Row(what="b", measured="2 s", goal="1 s", reached=False),
        Row(what="c", measured="1 s", goal="1 s", reached=True),
    ]
    assert table(rows).removeprefix(HEAD).splitlines() == [
        "",
        "| a | 1 s |  |  |",
        "| b | 2 s | 1 s | MISSED |",
        "| c | 1 s | 1 s | reached |",
    ]
