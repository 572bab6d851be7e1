"""The manifests for Kubernetes have the form that JobSet publishes."""

import pytest
import yaml

from tests.golden import golden_texts


def comes_back(document: object, read: object) -> bool:
    """Return whether all of a document is in what was read of it, which drops unknown fields."""
    if isinstance(document, dict) and isinstance(read, dict):
        return all(key in read and comes_back(each, read[key]) for key, each in document.items())
    if isinstance(document, list) and isinstance(read, list):
        pairs = zip(document, read, strict=True)
        return len(document) == len(read) and all(comes_back(*pair) for pair in pairs)
    return document == read


@pytest.mark.parametrize("name", ["jobset.yaml", "jobset_servers.yaml"])
def test_a_manifest_is_valid(name: str) -> None:
    """Every field is known, and of the right type; a misspelt one would not be."""
    package = "kubeflow_trainer_api.models"
    models = pytest.importorskip(package, reason="manifests are read by kubeflow-trainer-api")
    text = golden_texts()[name]
    for form, valid in {text: True, text.replace("maxRestarts", "maxRestart"): False}.items():
        document = yaml.safe_load(form)
        read = models.JobsetV1alpha2JobSet.from_dict(document).to_dict()
        assert comes_back(document, read) is valid
