"""What may be asked for here."""

from __future__ import annotations

from fastapi import APIRouter

from autotune.api.http import examples
from autotune.api.http.access import Reader
from autotune.api.http.answers import MachineAnswer, SpacesAnswer, WorkloadAnswer, WorkloadsAnswer
from autotune.api.http.examples import json_answer
from autotune.api.http.problems import CLOSED, documented
from autotune.api.http.service import Here

router = APIRouter(tags=["offers"])


@router.get(
    "/v1/workloads",
    summary="List the workloads",
    responses={200: json_answer(examples.WORKLOADS, "By name."), **documented(*CLOSED)},
)
async def workloads(here: Here, _: Reader) -> WorkloadsAnswer:
    """List the registered workloads and their parameters."""
    found = sorted(here.offers.workloads.items())
    return WorkloadsAnswer(workloads=tuple(WorkloadAnswer.of(*each) for each in found))


@router.get(
    "/v1/spaces",
    summary="List the search spaces",
    responses={
        200: json_answer(examples.SPACES, "The built-in search spaces."),
        **documented(*CLOSED, "machine-unknown"),
    },
)
def spaces(here: Here, _: Reader) -> SpacesAnswer:
    """List the built-in search spaces, and which one `auto` uses on this machine."""
    offers = here.offers
    return SpacesAnswer(auto=offers.space().name, spaces=tuple(offers.spaces.values()))


@router.get(
    "/v1/machine",
    summary="Get the machine",
    responses={
        200: json_answer(examples.MACHINE, "Its devices, memory and software."),
        **documented(*CLOSED, "machine-unknown"),
    },
)
def machine(here: Here, _: Reader) -> MachineAnswer:
    """Get the machine that jobs run on."""
    return MachineAnswer(devices=here.offers.devices, machine=here.offers.machine())
