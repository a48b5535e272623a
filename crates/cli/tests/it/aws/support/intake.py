#!/usr/bin/env python3
"""A stand-in for intake: checks GitHub's signature or GitLab's token by the stack's secret, present and previous, and no more."""

import hashlib
import hmac
import json
import os
import urllib.request

API = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"
SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/secretsmanager/aws4_request, SignedHeaders=host, Signature=0"


def secret(stage):
    body = {"SecretId": os.environ["MIRILLA_WEBHOOK_SECRET_ARN"], "VersionStage": stage}
    request = urllib.request.Request(
        os.environ["AWS_ENDPOINT_URL"],
        json.dumps(body).encode(),
        {
            "X-Amz-Target": "secretsmanager.GetSecretValue",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": SIGNED,
        },
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer).get("SecretString")
    except urllib.error.HTTPError:
        return None


def answer(event):
    given = event["headers"].get("x-hub-signature-256", "")
    token = event["headers"].get("x-gitlab-token", "")
    for stage in ("AWSCURRENT", "AWSPREVIOUS"):
        key = secret(stage)
        if key is None:
            continue
        wanted = hmac.new(key.encode(), event["body"].encode(), hashlib.sha256).hexdigest()
        if hmac.compare_digest(given, f"sha256={wanted}") or hmac.compare_digest(token, key):
            return {"statusCode": 200, "body": "ignored"}
    return {"statusCode": 401, "body": "bad signature"}


while True:
    with urllib.request.urlopen(f"{API}/next") as event:
        number = event.headers["Lambda-Runtime-Aws-Request-Id"]
        response = json.dumps(answer(json.load(event))).encode()
    urllib.request.urlopen(urllib.request.Request(f"{API}/{number}/response", response)).close()
