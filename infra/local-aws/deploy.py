"""Deploys a SAM template to the emulator, untouched but for where the functions' code lies.

Reads one request from standard input and writes one answer to standard output, both JSON:

    {"endpoint", "region", "key_id", "secret", "stack", "template": text,
     "code": {path of a CodeUri: path of its bootstrap}, "parameters": {}}
        -> {"outputs": {}, "resources": {logical id: physical id}} or {"error": text}
    {"endpoint", "region", "key_id", "secret", "stack", "delete": true}
        -> {} or {"error": text}
"""

import hashlib
import io
import json
import pathlib
import sys
import time
import zipfile

import boto3
from botocore.config import Config

import template

BUCKET = "mirilla-code"
WAIT_SECONDS = 120
# The emulator answers once a stack is made, however long that takes on a busy machine; a second request
# would find the first one's stack.
PATIENT = Config(read_timeout=300, retries={"total_max_attempts": 1})
PAUSE_SECONDS = 0.05


class Failed(Exception):
    pass


def packed(bootstrap: str) -> bytes:
    """Returns the zip file Lambda wants, the same bytes for the same program."""
    entry = zipfile.ZipInfo("bootstrap", (2024, 1, 1, 0, 0, 0))
    entry.external_attr = 0o755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compresslevel=1) as archive:
        archive.writestr(entry, pathlib.Path(bootstrap).read_bytes())
    return packed.getvalue()


def uploaded(s3, text: str, code: dict) -> str:
    """Uploads the functions' code and returns the template that points at it."""
    addresses = {}
    for path, _ in template.code(template.parse(text)):
        if path in addresses:
            continue
        if path not in code:
            raise Failed(f"no bootstrap is given for CodeUri: {path}")
        body = packed(code[path])
        key = f"{hashlib.sha256(body).hexdigest()[:16]}.zip"
        s3.put_object(Bucket=BUCKET, Key=key, Body=body)
        addresses[path] = f"s3://{BUCKET}/{key}"
    for path, address in addresses.items():
        text = text.replace(f"CodeUri: {path}\n", f"CodeUri: {address}\n")
    return text


def settled(cloudformation, stack: str, event_of: str) -> dict:
    """Waits until the stack stands still, and returns it."""
    for _ in range(int(WAIT_SECONDS / PAUSE_SECONDS)):
        found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        if not found["StackStatus"].endswith("_IN_PROGRESS"):
            return found
        time.sleep(PAUSE_SECONDS)
    raise Failed(f"the stack {stack} is not done {event_of} after {WAIT_SECONDS} s\n{events(cloudformation, stack)}")


def events(cloudformation, stack: str) -> str:
    """Returns what went wrong, oldest first."""
    found = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    return "\n".join(
        f"  {event['LogicalResourceId']}: {event['ResourceStatus']}: {event.get('ResourceStatusReason', '')}"
        for event in reversed(found)
        if "FAILED" in event["ResourceStatus"] or "ROLLBACK" in event["ResourceStatus"]
    )


def deploy(request: dict, client) -> dict:
    s3, cloudformation, stack = client("s3"), client("cloudformation"), request["stack"]
    s3.create_bucket(Bucket=BUCKET)
    # The template is larger than what may be sent along.
    key = f"{stack}.yaml"
    s3.put_object(Bucket=BUCKET, Key=key, Body=uploaded(s3, request["template"], request["code"]).encode())
    cloudformation.create_stack(
        StackName=stack,
        TemplateURL=f"{request['endpoint']}/{BUCKET}/{key}",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value} for name, value in request["parameters"].items()
        ],
    )
    found = settled(cloudformation, stack, "being created")
    if found["StackStatus"] != "CREATE_COMPLETE":
        raise Failed(f"the stack {stack} is {found['StackStatus']}:\n{events(cloudformation, stack)}")
    resources = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        "outputs": {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])},
        "resources": {
            resource["LogicalResourceId"]: resource["PhysicalResourceId"]
            for page in resources
            for resource in page["StackResourceSummaries"]
        },
    }


def delete(request: dict, client) -> dict:
    cloudformation, stack = client("cloudformation"), request["stack"]
    identity = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackId"]
    cloudformation.delete_stack(StackName=stack)
    found = settled(cloudformation, identity, "being deleted")
    if found["StackStatus"] != "DELETE_COMPLETE":
        raise Failed(f"the stack {stack} is {found['StackStatus']}:\n{events(cloudformation, identity)}")
    return {}


def main() -> None:
    request = json.load(sys.stdin)

    def client(service: str):
        return boto3.client(
            service,
            endpoint_url=request["endpoint"],
            region_name=request["region"],
            aws_access_key_id=request["key_id"],
            aws_secret_access_key=request["secret"],
            config=PATIENT,
        )

    try:
        answer = (delete if request.get("delete") else deploy)(request, client)
    except Exception as error:  # whatever went wrong is the caller's answer
        text = str(error)
        answer = {"error": text if len(text) < 8000 else f"{text[:4000]}\n…\n{text[-2000:]}"}
    json.dump(answer, sys.stdout)


main()
