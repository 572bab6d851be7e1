"""What a space may hold, and what is said of what it may not."""

from pathlib import Path
from typing import Any

import pytest

from autotune.errors import ConfigurationError, SpaceError
from autotune.space import check_arguments, load_space, parse_space, ready_made, space_for
from autotune.workload import Workload
from tests.engines.fake import fake_machine

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "search_spaces").glob("*.yaml")), ids=lambda path: path.stem
)
def test_ready_made_spaces_are_valid_and_named_by_their_file(path: Path) -> None:
    """Adding a space is adding a file: it is found by its name and says what it is for.

    None changes the numbers that a model computes with.
    """
    space = ready_made()[path.stem]
    assert space.name == path.stem
    assert space.description.endswith(".")
    assert space.values("precision") == ("float32",)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({}, "cpu"),
        ({"gpus": ("A",)}, "gpu"),
        ({"gpus": ("A", "A")}, "multi_gpu"),
        ({"tpus": 8}, "tpu"),
    ],
)
def test_auto_picks_by_machine(machine: dict[str, Any], expected: str) -> None:
    assert space_for(fake_machine(**machine)).name == expected


def one_device(**axes: list[Any]) -> dict[str, Any]:
    return {"strategies": ["one_device"], "axes": axes}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"strategies": ["mirored"]}, "Did you mean mirrored?"),
        ({"strategies": []}, "strategies: is empty"),
        ({"strategies": 3}, "strategies: must be a list"),
        ({}, "strategies: is missing"),
        (one_device(prefetch=[]), "'prefetch' has no values"),
        (one_device(per_replica_batch=[0]), "cannot be 0"),
        (one_device(per_replica_batch=["8"]), "cannot be '8'"),
        (one_device(xla=[1]), "it must be true or false."),
        (one_device(shard_policy=["some"]), "cannot be 'some'"),
        (one_device(prefetch=[2, 2]), "has duplicate values"),
        (one_device(prefetch=[[1]]), "axis 'prefetch' takes numbers, texts, true and false"),
        (one_device(cache=["memry"]), "Did you mean memory?"),
        (one_device(strategy=["x"]), "list strategies under"),
        # Such an axis would override the batch that rates are counted with.
        (one_device(batch_size=[32, 512]), "'batch_size'; use `per_replica_batch`"),
        (one_device(input_context=[32]), "'input_context'; use `per_replica_batch`"),
        ({"strategies": ["one_device"], "oops": 1}, "there is no 'oops'"),
        (["one_device"], "a space: must be a mapping"),
    ],
)
def test_mistakes_are_named_in_one_line(data: Any, said: str) -> None:
    with pytest.raises(SpaceError) as caught:
        parse_space(data, where="my.yaml")
    assert said in str(caught.value)
    assert "my.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ".." not in str(caught.value)


def test_the_first_mistake_of_a_file_is_told_by_its_name(tmp_path: Path) -> None:
    """A mistake in YAML is told with its line."""
    path = tmp_path / "mine.yaml"
    for text, told in [
        ("strategies: [mirored]\noops: 1\n", "mine.yaml: Unknown strategy 'mirored'"),
        ("strategies: [one_device\n", "line 2: expected"),
        ("strategies: [one_device\n", "for what begins in line 1"),
    ]:
        path.write_text(text)
        with pytest.raises(SpaceError) as caught:
            load_space(str(path))
        assert told in str(caught.value)
        assert "Input" not in str(caught.value)
        assert "oops" not in str(caught.value)


def test_a_bare_off_in_yaml_means_off(tmp_path: Path) -> None:
    """YAML 1.1 reads `off` as false; the space reads it as the user meant it."""
    path = tmp_path / "mine.yaml"
    path.write_text("strategies: [one_device]\naxes: {cache: [off, memory], xla: [off]}\n")
    space = load_space(str(path))
    assert space.axes == {"cache": ("off", "memory"), "xla": (False,)}


def test_a_mistyped_name_gets_a_proposal() -> None:
    with pytest.raises(SpaceError, match=r"'quik'.*Did you mean quick\?"):
        load_space("quik")


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    with pytest.raises(SpaceError) as caught:
        load_space(str(path))
    assert str(caught.value) == f"{path} cannot be read: No such file or directory. Check the path."


# Names that autotune fills itself cannot be taken by the user.


def fixing(workload: Workload, role: str, **arguments: Any) -> Workload:
    factory = getattr(workload, role).model_copy(update={"arguments": tuple(arguments.items())})
    return workload.model_copy(update={role: factory})


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"batch_size": 64}, "`per_replica_batch`"),
        ({"input_context": "x"}, "shard_policy"),
        ({"cache": True}, "`cache`"),
        ({"num_parallel_calls": 4}, "`num_parallel_calls`"),
    ],
)
def test_what_autotune_passes_to_the_dataset_cannot_be_fixed(
    workload: Workload, arguments: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_arguments(fixing(workload, "dataset", **arguments), ())
    assert remedy in caught.value.next_step


def test_what_autotune_does_not_pass_may_be_fixed(workload: Workload) -> None:
    """Only the dataset factory is given a batch size; all else is the user's business."""
    check_arguments(fixing(workload, "model", batch_size=64), ("units",))
    check_arguments(fixing(workload, "dataset", image_size=96), ("units",))


@pytest.mark.parametrize(
    ("role", "option"), [("model", "`model_args`"), ("dataset", "`dataset_args`")]
)
def test_an_axis_cannot_be_fixed_as_well(workload: Workload, role: str, option: str) -> None:
    with pytest.raises(SpaceError, match=f"'units'.* set to 3 by {option}"):
        check_arguments(fixing(workload, role, units=3), ("units",))
