"""The files in deploy/ fit the program."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from autotune.api.http.service import Metrics
from autotune.api.settings import PREFIX, Settings, load_settings
from autotune.api.store.jobs import Jobs, open_database
from autotune.api.workloads import Registry

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = "1.37"
"""Whose schemas are used."""


def objects() -> list[dict[str, Any]]:
    text = (DEPLOY / "kubernetes" / "autotune.yaml").read_text("utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(text)["items"]
    return found


def test_the_dashboard_shows_metrics_that_there_are(tmp_path: Path) -> None:
    settings = load_settings(data=tmp_path)
    database = open_database(settings)
    metrics = Metrics(Jobs(database, Registry({}), settings.quotas))
    metrics.count("GET", "/", 200, 0.1)
    text = metrics.text().decode()
    database.close()
    families = list(text_string_to_metric_families(text))
    told = {each.name for family in families for each in family.samples}
    told |= {family.name for family in families}
    panels = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(asked) >= 10
    assert set(re.findall(r"autotune_\w+", " ".join(asked))) <= told


def test_every_setting_of_a_deployment_is_one() -> None:
    """A variable that the program does not know would be refused at its start."""
    found = [each for each in DEPLOY.rglob("*") if each.is_file()]
    text = "\n".join(each.read_text("utf-8") for each in found)
    named = set(re.findall(rf"{PREFIX}([A-Z]+)", text)) - {"FILE"}
    assert {"DATABASE", "DATA", "LOG", "WEB"} <= named
    assert {each.lower() for each in named} <= Settings.model_fields.keys()


@pytest.mark.parametrize("number", range(len(objects())))
def test_an_object_of_kubernetes_is_one(number: int) -> None:
    kubernetes_validate.validate(objects()[number], KUBERNETES, strict=True)


def test_the_composition_is_one() -> None:
    """By the schema of the Compose Specification, which a misspelled field would break."""
    pytest.importorskip("check_jsonschema", reason="it brings the schema: the extra `dev`")
    vendored = files("check_jsonschema.builtin_schemas") / "vendor" / "compose-spec.json"
    schema = jsonschema_rs.validator_for(json.loads(vendored.read_text("utf-8")))
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    assert [each.message for each in schema.iter_errors(told)] == []


def test_a_probe_calls_the_service_by_a_name_that_it_serves() -> None:
    """By the address of its pod it would be refused."""
    (api,) = (each["spec"]["template"] for each in objects() if each["kind"] == "Deployment")
    container = api["spec"]["containers"][0]
    for name, path in (("startup", "healthz"), ("liveness", "healthz"), ("readiness", "readyz")):
        asked = container[f"{name}Probe"]["httpGet"]
        assert asked["path"] == f"/{path}"
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
