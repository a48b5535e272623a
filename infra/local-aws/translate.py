"""Translates SAM templates to plain CloudFormation, offline.

Reads {"templates": [text, …]} from standard input and writes a list to standard output, one entry per
template: {"template": …} or {"error": "…"}. Conditions and references stay as they are.
"""

import json
import logging
import os
import sys
from types import SimpleNamespace

import template

# The translator asks for a region, though nothing here is contacted.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
logging.getLogger("samtranslator").setLevel(logging.CRITICAL)

from samtranslator.translator.transform import transform  # noqa: E402


def translate(text: str) -> dict:
    try:
        parsed = template.parse(text)
        for path, place in template.code(parsed):
            place["CodeUri"] = {"Bucket": "code", "Key": path}
        # No managed policy is looked up: a template that names one of SAM's keeps the name.
        return {"template": transform(parsed, {}, SimpleNamespace(load=lambda: {}))}
    except Exception as error:  # whatever is wrong with it is the caller's answer
        causes = getattr(error, "causes", None) or [error]
        return {"error": "; ".join(str(getattr(cause, "message", cause)) for cause in causes)}


json.dump([translate(text) for text in json.load(sys.stdin)["templates"]], sys.stdout)
