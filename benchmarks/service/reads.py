"""How many reading calls a second the API serves, beside bare routes with the same queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from autotune.api.store.database import Database
from benchmarks.service.filled import fill
from benchmarks.service.load import Burst, Calls, burst
from benchmarks.service.site import Site, address_of, running
from benchmarks.service.table import Row

JOBS = 300
CALLS = {
    "GET /v1/tunings/{id}": "/v1/tunings/{id}",
    "GET /v1/tunings": "/v1/tunings",
    "GET /v1/tunings/{id}/trials": "/v1/tunings/{id}/trials",
    "GET /v1/tunings/{id}/recommendation": "/v1/tunings/{id}/recommendation",
}
SHARE = 0.7
"""Of what the bare route serves."""
WARM_SECONDS = 1.0
BUSIEST = 0.8
"""Share of a processor that the caller may use; above it, it limits what it measures."""


def measure(site: Site, database: Database, rounds: int, seconds: float) -> Iterator[Row]:
    """Yield a row for each call: bursts at the API and at the bare routes take turns."""
    key = site.new_key(database, "reads")
    ids = fill(database, site.settings, JOBS)
    api = site.start("serve", "api", "--port", "0")
    bare = site.launch(["-m", "benchmarks.service.bare", site.database])
    with running(api, bare):
        addresses = address_of(api), address_of(bare)
        for name, path in CALLS.items():
            calls = Calls(paths=[path.replace("{id}", each) for each in ids], key=key)
            for each in addresses:
                burst(each, calls, WARM_SECONDS)
            turns = [_turn(addresses, calls, seconds, number) for number in range(rounds)]
            yield _row(name, turns)


def _turn(
    addresses: tuple[str, str], calls: Calls, seconds: float, number: int
) -> tuple[Burst, Burst]:
    """Return a burst at each; who comes first changes from turn to turn."""
    first = number % 2
    found = {which: burst(addresses[which], calls, seconds) for which in (first, 1 - first)}
    return found[0], found[1]


def _row(name: str, turns: Sequence[tuple[Burst, Burst]]) -> Row:
    wrong = sum(each.wrong for turn in turns for each in turn)
    if wrong:
        raise RuntimeError(f"{name}: {wrong} answers were no success")
    ratios = sorted(mine.rate / bare.rate for mine, bare in turns)
    ours, baseline = ([turn[which] for turn in turns] for which in (0, 1))
    share = median(ratios)
    busiest = max(each.busy for turn in turns for each in turn)
    limited = "" if busiest < BUSIEST else f"; the caller was {busiest:.0%} busy and limits this"
    return Row(
        what=name,
        measured=f"{share:.0%} of bare ({ratios[0]:.0%} to {ratios[-1]:.0%}): {_speed(ours)}; "
        f"bare {_speed(baseline)}{limited}",
        goal=f"at least {SHARE:.0%}",
        reached=share >= SHARE,
    )


def _speed(bursts: Sequence[Burst]) -> str:
    latencies = sorted(each for one in bursts for each in one.latencies)
    cuts = quantiles(latencies, n=100)
    rate = median(each.rate for each in bursts)
    return f"{rate:.0f}/s, p50 {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms"
