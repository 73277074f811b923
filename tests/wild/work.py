# As work.mjs, for servers in Python.
import asyncio
import os
import time

ledger = os.environ["LEDGER"]


def note(order):
    """How long this run takes, its status, and the body of its answer."""
    name = order.get("id", "none")
    with open(ledger, "a") as file:
        file.write(f"{name}\n")
    with open(ledger) as file:
        run = file.read().split("\n").count(name)
    seconds = order.get("ms", 0) / 1000 if run == 1 else 0
    return seconds, 503 if run <= order.get("failures", 0) else 201, {"id": name, "run": run}


def work(order):
    seconds, status, body = note(order)
    time.sleep(seconds)
    return status, body


async def work_async(order):
    seconds, status, body = note(order)
    await asyncio.sleep(seconds)
    return status, body
