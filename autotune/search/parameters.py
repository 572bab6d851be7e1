"""How an Optuna study holds configurations, as its parameters, and trials.

The strategy is asked for first. What only one strategy has is a conditional parameter: it is
suggested under that strategy alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from autotune.base import Scalar
from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.trial import Trial

RECORD = "autotune"
"""Key of the user attribute that holds a trial, or a study's identity, in full."""
STRATEGY = "strategy"


class Parameters:
    """The parameters that stand for the configurations of a pool.

    The domains that earlier trials of a study have are kept, as Optuna never lets them change.
    """

    def __init__(
        self, pool: Sequence[Configuration] = (), earlier: Sequence[FrozenTrial] = ()
    ) -> None:
        values: dict[str, dict[str, dict[Scalar, None]]] = defaultdict(lambda: defaultdict(dict))
        for each in pool:
            for name, value in each.values().items():
                values[each.strategy][name][value] = None
        # An axis with one value says nothing, and every parameter costs the database two queries.
        self._axes = {
            strategy: [n for n, found in mine.items() if len(found) > 1 and n != STRATEGY]
            for strategy, mine in values.items()
        }
        choices: dict[str, dict[Scalar, None]] = defaultdict(dict)
        if len(values) > 1:
            choices[STRATEGY] = dict.fromkeys(values)
        for strategy, names in self._axes.items():
            for name in names:
                choices[name].update(values[strategy][name])
        self.distributions = {
            name: CategoricalDistribution(tuple(found)) for name, found in choices.items()
        }
        for trial in earlier:
            for name, domain in trial.distributions.items():
                if isinstance(domain, CategoricalDistribution):
                    self.distributions[name] = domain
        self._known = {_key(self.of(each)): each for each in pool}

    def of(self, configuration: Configuration) -> dict[str, Scalar]:
        """Return the parameters of a configuration.

        Those are left out whose value no domain holds: of a study that goes on, another inspection
        may allow a value that is new.
        """
        shown = configuration.values()
        names = [STRATEGY, *self._axes.get(configuration.strategy, ())]
        return {
            name: shown[name]
            for name in names
            if name in self.distributions and shown[name] in self.distributions[name].choices
        }

    def suggested(self, trial: optuna.trial.Trial) -> Configuration | None:
        """Return the configuration that a trial suggests; None where there is none of the kind."""
        strategy = next(iter(self._axes), "")
        found: dict[str, Scalar] = {}
        if STRATEGY in self.distributions:
            strategy = str(self._suggest(trial, STRATEGY))
            found[STRATEGY] = strategy
        for name in self._axes.get(strategy, ()):
            found[name] = self._suggest(trial, name)
        return self._known.get(_key(found))

    def _suggest(self, trial: optuna.trial.Trial, name: str) -> Scalar:
        value = trial.suggest_categorical(name, self.distributions[name].choices)
        return "" if value is None else value  # No axis has None.


def _key(parameters: Mapping[str, Scalar]) -> frozenset[tuple[str, str]]:
    return frozenset((name, repr(value)) for name, value in parameters.items())


def state_of(trial: Trial, value: float | None) -> TrialState:
    if trial.outcome is Outcome.PRUNED:
        return TrialState.PRUNED
    return TrialState.FAIL if value is None else TrialState.COMPLETE


def frozen(
    trial: Trial,
    value: float | None,
    parameters: Parameters,
    shown: Mapping[int, float] | None = None,
) -> FrozenTrial:
    """Return a trial as the database keeps it, with its value by the objective.

    What it has shown on its way is by half seconds.
    """
    value = value if trial.measured else None
    params = parameters.of(trial.configuration)
    made = create_trial(
        state=state_of(trial, value),
        value=value,
        params=params,
        distributions={name: parameters.distributions[name] for name in params},
        user_attrs={
            "stage": str(trial.stage),
            "outcome": str(trial.outcome),
            "reason": reason_text(trial.reason),
            RECORD: trial.model_dump(mode="json"),
        },
        intermediate_values=dict(shown or {}),
    )
    if trial.ended_at is not None:
        # Optuna's times are local ones, without a zone.
        made.datetime_complete = datetime.fromtimestamp(trial.ended_at)  # noqa: DTZ006
        made.datetime_start = made.datetime_complete - timedelta(seconds=trial.wall_seconds)
    return made


def root_cause(error: BaseException) -> str:
    """Return the first line of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
