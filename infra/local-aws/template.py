"""Reads CloudFormation's YAML: every short form becomes the function it stands for."""

import yaml


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    pass


def function(loader: Loader, suffix: str, node: yaml.Node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


# Dates stay text: CloudFormation knows no other.
Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
Loader.add_multi_constructor("!", function)


def parse(text: str):
    return yaml.load(text, Loader)


def code(parsed: dict):
    """Yields the local path of every function's code, and where it stands."""
    for resource in parsed.get("Resources", {}).values():
        if resource.get("Type") == "AWS::Serverless::Function":
            path = resource["Properties"].get("CodeUri")
            if isinstance(path, str) and not path.startswith("s3://"):
                yield path, resource["Properties"]
