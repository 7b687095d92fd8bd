"""Counters for `/metrics`: requests by route and status, receipts left out by reason.

No label holds a Scope, an identity or anything a caller wrote (invariant 8). With
several worker processes `manage.py serve` gives them a folder to share.
"""

import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)

from prepare.middleware import GetResponse

REQUESTS = Counter(
    "powercontext_requests", "Answered requests.", ["method", "route", "status"]
)
SECONDS = Histogram(
    "powercontext_request_seconds",
    "Seconds from request to answer.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
RECEIPTS_OMITTED = Counter(
    "powercontext_receipts_omitted",
    "Receipts that were asked for and could not be given.",
    ["reason"],
)


class MetricsMiddleware:
    """Counts every answer under its route's pattern, never under the path itself."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match is not None else "(none)"
        method = request.method or ""
        REQUESTS.labels(method, route, str(response.status_code)).inc()
        SECONDS.labels(method, route).observe(time.perf_counter() - start)
        return response


def collect_metrics() -> bytes:
    """All processes' counters in the Prometheus text format."""
    if not settings.METRICS_DIR:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # library
    return generate_latest(registry)


CONTENT_TYPE = CONTENT_TYPE_LATEST
