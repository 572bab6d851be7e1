"""The search space: which values each axis may take, and which combinations can run here."""

from autotune.space.enumerate import (
    ONE_DEVICE as ONE_DEVICE,
    Candidates as Candidates,
    Limit as Limit,
    candidates as candidates,
    check_own_axes as check_own_axes,
    part_of as part_of,
    strategies_of as strategies_of,
)
from autotune.space.legality import Situation as Situation, why_alone as why_alone
from autotune.space.schema import (
    AUTO as AUTO,
    Space as Space,
    check_arguments as check_arguments,
    load_space as load_space,
    parse_space as parse_space,
    ready_made as ready_made,
    space_file as space_file,
    space_for as space_for,
)
