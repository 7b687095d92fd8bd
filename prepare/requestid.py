"""The current request's id, for log lines only; services never see it (J-17)."""

import logging
from contextvars import ContextVar

_NONE = "-"

request_id_variable: ContextVar[str] = ContextVar("request_id", default=_NONE)


def current_request_id() -> str:
    return request_id_variable.get()


class RequestIdFilter(logging.Filter):
    """Gives every log record of a request that request's id."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        return True
