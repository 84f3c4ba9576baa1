"""How a person opens the page where keys are asked for: a form takes the key once and sets a cookie in its place.

The cookie holds no key but a signed note of whose key it was and until when; scripts can't read it, other sites can't
make the browser send it, and it ends with its key.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from .asgi import header

if TYPE_CHECKING:
    from starlette.types import Scope

    from .keys import KeyRing, StoredKey

router = APIRouter(include_in_schema=False)
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
_COOKIE = "ale_session"
_HOST_COOKIE = "__Host-ale_session"  # over TLS: the browser then refuses one set by a neighbouring host
_MOST_FIELDS = 10
_LONGEST_NEXT = 8_000  # a shared link with a long query fits
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color-scheme:light dark}"
    "label,input,button{display:block;width:100%;box-sizing:border-box;font:inherit;margin:.5rem 0}"
    "input,button{padding:.5rem}[role=alert]{color:light-dark(#a40000,#ff9d9d)}"
)
_STYLE_HASH = hashlib.sha256(_STYLE.encode()).digest()


class Sessions:
    """Makes and checks the cookies of signed-in browsers."""

    def __init__(self, keys: KeyRing, *, secret: str, hours: float) -> None:
        """Take the keys, the secret that signs (every worker needs the same) and how long a session lasts."""
        self.keys = keys
        self._secret = secret.encode()
        self.seconds = int(hours * 3600)

    def token(self, key: StoredKey, *, now: float | None = None) -> str:
        """Return the signed note for a key."""
        expires = int((time.time() if now is None else now) + self.seconds)
        return f"{key.id}.{expires}.{self._signature(key, expires)}"

    def find(self, scope: Scope) -> StoredKey | None:
        """Return the key that a request's cookie stands for, if both are still valid."""
        parts = _cookie(scope).split(".")
        if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 15):
            return None
        key = self.keys.valid(parts[0])
        if key is None or int(parts[1]) <= time.time():
            return None
        signature = self._signature(key, int(parts[1])).encode()
        return key if hmac.compare_digest(signature, parts[2].encode("utf-8", "replace")) else None

    def _signature(self, key: StoredKey, expires: int) -> str:
        message = f"{key.id}.{expires}.{key.key_hash}".encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


@router.get(SIGN_IN)
async def sign_in_form(request: Request) -> Response:
    """Show the form; whoever is signed in already goes on to where they wanted to."""
    target = _local(request.query_params.get("next", "/"))
    if _sessions(request).find(request.scope) is not None:
        return RedirectResponse(target, 303)
    return sign_in_page(target)


@router.post(SIGN_IN)
async def sign_in(request: Request) -> Response:
    """Take a key from the form and set the cookie."""
    form = _form(await request.body())
    target = _local(form.get("next", ["/"])[0])
    sessions = _sessions(request)
    key = sessions.keys.find(form.get("key", [""])[0].strip())
    if key is None:
        return sign_in_page(target, problem="This key isn't valid. Ask whoever runs this service for one.")
    response = RedirectResponse(target, 303)
    secure = request.url.scheme == "https"
    response.set_cookie(
        _HOST_COOKIE if secure else _COOKIE,
        sessions.token(key),
        max_age=sessions.seconds,
        path="/",
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return response


@router.get(SIGN_OUT)
async def sign_out_form() -> Response:
    """Ask before signing out, so that no link can do it."""
    return _page("Sign out", f'<form method="post" action="{SIGN_OUT}"><button>Sign out</button></form>', 200)


@router.post(SIGN_OUT)
async def sign_out() -> Response:
    """Take the cookie away."""
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(_COOKIE, path="/", httponly=True, samesite="strict")
    response.delete_cookie(_HOST_COOKIE, path="/", httponly=True, samesite="strict", secure=True)
    return response


def sign_in_page(target: str, *, problem: str = "") -> Response:
    """Return the form as an answer that says that a key is needed."""
    alert = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    form = (
        f'{alert}<form method="post" action="{SIGN_IN}"><input type="hidden" name="next" value="{escape(target)}">'
        '<label for="key">API key</label>'
        '<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>'
        "<button>Sign in</button></form>"
    )
    return _page("Sign in", form, 401)


def challenge(scope: Scope) -> Response:
    """Return what a browser without a session gets for any address.

    A browser that follows a link from another site doesn't send the cookie along (SameSite=Strict), though its
    person may well be signed in: it is asked to come again, from here.
    """
    query = scope["query_string"].decode("latin-1")
    target = _local(quote(scope["path"]) + (f"?{query}" if query else ""))
    if header(scope, b"sec-fetch-site") in ("cross-site", "same-site"):
        again = escape(f"{SIGN_IN}?next={quote(target, safe='')}")
        return _page("Sign in", f'<p><a href="{again}">Sign in</a></p>', 401, refresh=again)
    return sign_in_page(target)


def _page(title: str, body: str, status: int, *, refresh: str = "") -> Response:
    again = f'<meta http-equiv="refresh" content="0;url={refresh}">' if refresh else ""
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} - ALE Semantic</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">{again}<style>{_STYLE}</style></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(html, status, _headers(status))


def _headers(status: int) -> dict[str, str]:
    from base64 import b64encode

    style = b64encode(_STYLE_HASH).decode()
    headers = {
        "cache-control": "no-store",
        "content-security-policy": f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "referrer-policy": "same-origin",  # with `no-referrer` the form would come from the origin "null"
    }
    return {**headers, "www-authenticate": "Bearer"} if status == 401 else headers


def _local(target: str) -> str:
    """Return an address of this service to go on to; anything that could lead elsewhere becomes the front page."""
    plain = target.startswith("/") and not target.startswith("//") and len(target) <= _LONGEST_NEXT
    if not plain or "\\" in target or not target.isprintable() or target.startswith((SIGN_IN, SIGN_OUT)):
        return "/"
    return target


def _form(body: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:  # too many fields: not our form
        return {}


def _cookie(scope: Scope) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(header(scope, b"cookie"))
    except CookieError:
        return ""
    name = _HOST_COOKIE if scope.get("scheme") in ("https", "wss") else _COOKIE
    return jar[name].value if name in jar else ""


def _sessions(request: Request) -> Sessions:
    sessions: Sessions = request.app.state.sessions
    return sessions
