"""The settings of the service: flags win over ALE_SERVICE_* variables, which win over a TOML file.

docs/service.md holds one table of them all; a test keeps it equal to the fields below.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from limits import parse as parse_rate
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from ale_semantic.errors import AleSemanticError
from ale_semantic.requests import MAX_QUERY_CHARACTERS

from .config_faults import explained, no_setting, refuse_unknown, unreadable

PREFIX = "ALE_SERVICE_"
CONFIG_VARIABLE = "ALE_SERVICE_CONFIG"
_ANY_PORT = 65_535

# A list is written as a TOML array, or with commas in a variable or flag.
Listed = Annotated[tuple[str, ...], NoDecode]


class ServiceConfigError(AleSemanticError):
    """A setting of the service that can't be taken."""


class LogFormat(StrEnum):
    """How a line of the log is written."""

    JSON = "json"
    TEXT = "text"


def default_keys_file() -> Path:
    """Return where the keys lie when no file is named."""
    import platformdirs

    return Path(platformdirs.user_config_dir("ale-semantic", appauthor=False)) / "keys.json"


class ServiceConfig(BaseSettings):
    """Every setting of the service; made by `load`, never changed."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, case_sensitive=False
    )

    host: str = Field("127.0.0.1", description="Address to listen on. Any but loopback needs an API key.")
    port: int = Field(8000, ge=0, le=_ANY_PORT, description="Port; 0 takes any that is free.")
    ui: bool = Field(True, description="Serve the page at `/`.")
    mcp: bool = Field(True, description="Serve MCP at `/mcp`.")
    index: Path | None = Field(None, description="Folder of the index; unset: the one that ALE_INDEX names.")
    watch_seconds: float = Field(2.0, ge=0, le=3600, description="Look for a new index this often; 0: never.")
    threads: int = Field(8, ge=1, le=64, description="Searches that run at once in a worker.")
    queue: int = Field(64, ge=0, le=10_000, description="Questions that may wait in a worker; one more gets 429.")
    deadline_seconds: float = Field(10.0, gt=0, le=600, description="Longest time of a question, waiting included.")
    workers: int = Field(1, ge=1, le=64, description="Processes that share the memory-mapped index.")
    shutdown_seconds: float = Field(15.0, ge=0, le=600, description="Time that running answers get at shutdown.")
    max_body_bytes: int = Field(1_000_000, ge=1_000, le=100_000_000, description="Larger bodies get 413.")
    max_query_chars: int = Field(
        MAX_QUERY_CHARACTERS, ge=1, le=MAX_QUERY_CHARACTERS, description="Longest query, in characters."
    )
    max_k: int = Field(1000, ge=1, le=10_000, description="Most hits of one answer.")
    max_batch: int = Field(256, ge=1, le=10_000, description="Most texts of one embedding request.")
    max_header_bytes: int = Field(32_768, ge=1_024, le=1_048_576, description="Longer request heads get 431.")
    max_headers: int = Field(100, ge=10, le=1_000, description="Requests with more headers get 431.")
    receive_seconds: float = Field(
        20.0, gt=0, le=600, description="A client that takes longer to send a head, or a body, gets 408."
    )
    max_connections: int = Field(1_024, ge=1, le=100_000, description="Open connections of a worker; more get 503.")
    vector_cache: int = Field(
        1_024, ge=0, le=1_000_000, description="Query vectors that are kept, about 26 kB each; 0: none."
    )
    answer_cache_mb: int = Field(64, ge=0, le=100_000, description="Memory of the answers that are kept; 0: none.")
    rate_limit: str = Field(
        "",
        description="Requests of one key (without a key: one address), e.g. `120/minute`; empty: no limit.",
    )
    require_key: bool | None = Field(None, description="Ask for an API key; unset: once the keys file holds one.")
    keys_file: Path = Field(default_factory=default_keys_file, description="File of the hashed API keys.")
    allow_remote_without_key: bool = Field(
        False, description="Listen on other addresses than loopback though no key is asked for."
    )
    session_hours: float = Field(12.0, gt=0, le=720, description="How long a browser stays signed in.")
    session_secret: SecretStr = Field(
        default_factory=lambda: SecretStr(secrets.token_hex(32)),
        min_length=32,
        description="Signs the browsers' sessions; unset: made anew at each start, which signs all out.",
    )
    allowed_hosts: Listed = Field((), description="Host names that requests may name (on loopback: besides it).")
    cors_origins: Listed = Field((), description="Origins whose scripts may call the API, e.g. `https://example.org`.")
    trusted_proxies: Listed = Field((), description="Addresses or networks whose X-Forwarded-* headers count.")
    log_format: LogFormat = Field(LogFormat.JSON, description="`json` lines or `text`.")
    log_queries: bool = Field(False, description="Write the text of queries, and of unexpected errors, into the log.")
    otlp_endpoint: str = Field(
        "", description="OpenTelemetry collector (OTLP over HTTP), e.g. `http://127.0.0.1:4318`; empty: no traces."
    )

    _file: ClassVar[Path | None] = None

    @field_validator("allowed_hosts", "cors_origins", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("host")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value or any(char.isspace() or char in "/@" for char in value):
            raise ValueError("must be an address or a host name, e.g. 127.0.0.1")
        return value.removeprefix("[").removesuffix("]")

    @field_validator("rate_limit")
    @classmethod
    def _rate(cls, value: str) -> str:
        if value:
            try:
                parse_rate(value)
            except ValueError:
                raise ValueError("must be like 120/minute or 5/second") from None
        return value

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            parts = urlsplit(value)
            exact = parts.scheme in ("http", "https") and parts.netloc and value == f"{parts.scheme}://{parts.netloc}"
            if not exact or "*" in value or "@" in value:
                raise ValueError(f"{value!r} must be an exact origin such as https://example.org (no path, no *)")
        return values

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            try:
                ipaddress.ip_network(value)
            except ValueError:
                raise ValueError(f"{value!r} must be an address or a network such as 10.0.0.0/8") from None
        return values

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if "*" in value or "/" in value:
                raise ValueError(f"{value!r} must be a plain host name such as search.example.org (no port, no *)")
        return tuple(value.lower() for value in values)

    @field_validator("otlp_endpoint")
    @classmethod
    def _collector(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError("must be an http or https address such as http://127.0.0.1:4318")
        return value.rstrip("/")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, environment, file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=cls._file)

    @classmethod
    def load(cls, config: Path | None = None, **flags: Any) -> ServiceConfig:
        """Read the settings.

        Args:
            config: a TOML file; by default the one that ALE_SERVICE_CONFIG names, if any.
            flags: values given on the command line; None means not given.

        Raises:
            ServiceConfigError: naming the setting, where it was given and what it may be.
        """
        named = os.environ.get(CONFIG_VARIABLE, "")
        file = config or (Path(named) if named else None)
        given = {name: value for name, value in flags.items() if value is not None}
        if problem := unreadable(file) or refuse_unknown(cls.model_fields, file, prefix=PREFIX, also=CONFIG_VARIABLE):
            raise ServiceConfigError(problem)
        reader: type[ServiceConfig] = type("_Reader", (cls,), {"_file": file, "__module__": __name__})
        try:
            values = reader(**given).model_dump()
        except ValidationError as error:
            raise ServiceConfigError(explained(error, flags=given, file=file, prefix=PREFIX)) from None
        return cls.exactly(**values)

    @classmethod
    def named(cls, pairs: Iterable[str]) -> dict[str, str]:
        """Read settings written NAME=VALUE, as flags for `load`.

        Raises:
            ServiceConfigError: if one isn't written so, or there is no such setting.
        """
        given = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            name = name.strip().lower().replace("-", "_")
            if not equals:
                raise ServiceConfigError(f"{pair!r} must be written NAME=VALUE, such as rate_limit=120/minute")
            if name not in cls.model_fields:
                raise ServiceConfigError(no_setting(f"--set {name}", name, cls.model_fields))
            given[name] = value.strip()
        return given

    @classmethod
    def exactly(cls, **values: Any) -> ServiceConfig:
        """Return the defaults with the given values, whatever the environment says (worker processes, tests)."""
        defaults = {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}
        return cls(**{**defaults, **values})

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can reach the service."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine's own."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_table() -> str:
    """Return the Markdown table of all settings."""
    lines = ["| setting | variable | default | meaning |", "|---|---|---|---|"]
    for name, field in ServiceConfig.model_fields.items():
        shown = _shown_default(name, field.default, made=field.default_factory is not None)
        lines.append(f"| `{name}` | `{PREFIX}{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(lines)


_MADE = {"keys_file": "`keys.json` in the user's settings folder", "session_secret": "random"}


def _shown_default(name: str, default: object, *, made: bool) -> str:
    if made:
        return _MADE[name]
    if default is None or default in ("", ()):
        return "unset"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"
