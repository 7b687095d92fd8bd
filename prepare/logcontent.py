"""Keeps content out of what Django itself logs about a request (C-67). Pure."""

import logging
import traceback


class ContentFreeFilter(logging.Filter):
    """Rewrites a record of `django.request`: status, route and kind of error only.

    Django names the path, which holds Scope and artifact ids, and shows an exception
    with its text, which quotes what it choked on. The request hangs on the record, for
    handlers that would send its body by mail.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        status = getattr(record, "status_code", "-")
        record.msg = "request_refused status=%s route=%s error_type=%s at=%s"
        record.args = (status, getattr(match, "route", "-"), *_error(record))
        record.request = None
        record.exc_info = record.exc_text = record.stack_info = None
        return True


def _error(record: logging.LogRecord) -> tuple[str, str]:
    """Type and place of the exception, if there is one."""
    if not record.exc_info or record.exc_info[0] is None:
        return "-", "-"
    frames = traceback.extract_tb(record.exc_info[2])
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "-"
    return record.exc_info[0].__name__, place
