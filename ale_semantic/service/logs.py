"""The log: one line per event, as JSON or text, on the error stream."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from .config import LogFormat, ServiceConfig


class JsonLines(logging.Formatter):
    """One JSON object per line; whatever a value holds, it can't begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class News(logging.Filter):
    """Drops the line of uvicorn's that the service writes itself, with a reason and the client's address."""

    said_better = "Invalid HTTP request received."

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether to write a line."""
        return record.msg != self.said_better


class TextLines(logging.Formatter):
    """One line of text: time, level, message, then name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = getattr(record, "fields", {})
        parts = [_time(record), record.levelname, record.getMessage(), *(f"{k}={_value(v)}" for k, v in fields.items())]
        line = " ".join(parts).replace("\r", "\\r").replace("\n", "\\n")
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info and record.exc_info[0] else line


def logging_config(config: ServiceConfig) -> dict[str, Any]:
    """Return the settings of Python's logging, in the form that uvicorn takes as `log_config`.

    uvicorn's own access log stays off: it writes query strings, and the service logs each request itself.
    """
    formatter = JsonLines if config.log_format is LogFormat.JSON else TextLines
    own = {"handlers": ["lines"], "level": "INFO", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "filters": {"news": {"()": News}},
        "handlers": {
            "lines": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "filters": ["news"],
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            "ale_semantic": own,
            "uvicorn": own,
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "mcp": {**own, "level": "WARNING"},  # it logs a line per message at INFO
        },
    }


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return json.dumps(text, ensure_ascii=False) if not text or any(c.isspace() or c in '"=' for c in text) else text
