# SPDX-License-Identifier: MIT
"""Checks Kubernetes manifests against the published schemas: kubernetes-validate brings Kubernetes' own; PyTorchJob's is taken
from the models that Kubeflow generates from its API (kubeflow-training), read as text, since importing them wants a client."""
import ast
import importlib.util
import pathlib
import re

import kubernetes_validate
import yaml

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}


def documents(text):
    return list(yaml.safe_load_all(text))


def models_folder():
    return pathlib.Path(importlib.util.find_spec("kubeflow").submodule_search_locations[0]) / "training/models"


def model(name):
    """openapi_types and attribute_map of a generated class, and the keys that it wants."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    text = (models_folder() / f"{snake}.py").read_text()
    body = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)).body
    tables = {node.targets[0].id: ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign)}
    wanted = re.findall(r"Invalid value for `(\w+)`, must not be `None`", text)
    return tables["openapi_types"], tables["attribute_map"], set(wanted)


def check_model(value, kind, where):
    """Every key is known, of its type, and none that is wanted lacks."""
    if kind in PLAIN:
        assert isinstance(value, PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool)), f"{where}: {value!r} is no {kind}"
        return
    if inner := re.fullmatch(r"dict\(str, (\w+)\)", kind):
        for key, member in value.items():
            check_model(member, inner[1], f"{where}.{key}")
        return
    if inner := re.fullmatch(r"list\[(\w+)\]", kind):
        for i, member in enumerate(value):
            check_model(member, inner[1], f"{where}[{i}]")
        return
    if kind == "V1PodTemplateSpec":  # Kubernetes' own: a Pod's, whose restart policy the operator sets
        spec = dict(value["spec"], restartPolicy="Never")
        check({"apiVersion": "v1", "kind": "Pod", "metadata": dict(value.get("metadata", {}), name="pod"), "spec": spec})
        return
    if kind == "V1ObjectMeta":
        check({"apiVersion": "v1", "kind": "ConfigMap", "metadata": value})
        return
    types, names, wanted = model(kind)
    known = {json_name: name for name, json_name in names.items()}
    assert not set(value) - set(known), f"{where}: unknown keys {sorted(set(value) - set(known))}"
    assert not {names[name] for name in wanted} - set(value), f"{where} lacks {sorted({names[n] for n in wanted} - set(value))}"
    for key, member in value.items():
        check_model(member, types[known[key]], f"{where}.{key}")


def check(document):
    if document.get("kind") == "PyTorchJob":
        assert document["apiVersion"] == "kubeflow.org/v1", document["apiVersion"]
        check_model(document, "KubeflowOrgV1PyTorchJob", "PyTorchJob")
    else:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version().rsplit(".", 1)[0], strict=True)
