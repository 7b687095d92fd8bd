"""One transaction per write, run again when another writer won (contract C-43).

The only place that retries. A write is a function of its arguments, and nothing of a
failed attempt stays, so running it again is safe. Network calls never happen inside.
"""

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction

from prepare.search.vendors import lost_to_another_writer

P = ParamSpec("P")
Result = TypeVar("Result")

ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.02


def write_transaction(write: Callable[P, Result]) -> Callable[P, Result]:
    """Run `write` in a transaction of its own, or as a part of the caller's.

    A deadlock, a lock not had in time or a key taken meanwhile is tried again, four
    times at most, with growing pauses; then it is raised, and a lock is answered as
    503, which may be retried.
    """

    @wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> Result:
        attempts = 1 if connection.in_atomic_block else ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                with transaction.atomic():
                    return write(*args, **kwargs)
            except (OperationalError, IntegrityError) as error:
                if attempt == attempts or not lost_to_another_writer(error):
                    raise
                pause = _FIRST_PAUSE_SECONDS * 2**attempt
                time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311
        raise AssertionError("unreachable")

    return run
