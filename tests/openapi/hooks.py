"""Reads the one answer that is not JSON: an object in each line."""

import json

import schemathesis


@schemathesis.deserializer("application/x-ndjson")
def ndjson(_context, response):
    text = response.content.decode("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]
