"""What the text of a module tells of its names, values and functions."""

from autotune.doctor.code.functions import argument as argument, last_name as last_name
from autotune.doctor.code.kinds import (
    MULTI_WORKER as MULTI_WORKER,
    ONE_DEVICE as ONE_DEVICE,
    STRATEGIES as STRATEGIES,
    Kind as Kind,
    made_by as made_by,
)
from autotune.doctor.code.module import Module as Module
from autotune.doctor.code.steps import (
    Steps as Steps,
    StepValues as StepValues,
    is_repeated as is_repeated,
)
from autotune.doctor.code.tree import (
    Comprehension as Comprehension,
    Function as Function,
    Loop as Loop,
    PythonLoop as PythonLoop,
)
