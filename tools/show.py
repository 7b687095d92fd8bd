"""Wait for the server of `make run`, prepare one context and show it."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

REQUEST = {
    "scope_id": "project:harbor",
    "query": "How is the idempotency key of a carrier webhook computed,"
    " and what do we answer to a duplicate?",
    "max_bytes": 4000,
    "assembly": {
        "sections": [
            {"family": "experience", "limit": 1},
            {"family": "memory", "limit": 3},
        ]
    },
}
WAIT_SECONDS = 60


def main(url: str, server_pid: str) -> None:
    wait_until_ready(url, int(server_pid))
    body = json.dumps(REQUEST)
    request = urllib.request.Request(  # noqa: S310  (our own loopback address)
        f"{url}/v1/context/prepare",
        data=body.encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
        prepared = json.load(response)
    print(f"\ncurl -s {url}/v1/context/prepare -H 'Content-Type: application/json' \\")
    print(f"  -d '{body}'\n")
    print(prepared["content"])
    print(f"\nstatus {prepared['status']}, {prepared['content_bytes']} bytes")
    print(f"Inspector {url}/inspector/   (why is this in it, and that not?)")
    print(f"API docs  {url}/docs\nAdmin     {url}/admin/   (make an account:")
    print("          .venv/bin/python manage.py createsuperuser)\nStop with Ctrl-C.")
    sys.stdout.flush()


def wait_until_ready(url: str, server_pid: int) -> None:
    """Return once our own server answers; another one on the port is not ours."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        time.sleep(0.3)
        os.kill(server_pid, 0)  # raises ProcessLookupError if it has ended
        try:
            with urllib.request.urlopen(f"{url}/health/ready", timeout=2):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError:
        sys.exit(1)  # run.sh says what is wrong
