"""Abuse limits: how often one address may try something in an hour. The address itself is never stored."""

import hashlib
import hmac
import time
from functools import lru_cache

import redis
from django.conf import settings
from django.http import HttpRequest

HOUR = 3600
# A university or a mobile network sends many honest people through one address.
OWN = ("127.0.0.1", "::1")  # a rehearsal on one's own computer
LIMITS = {"entry": 600, "consent": 300, "login": 20, "webhook": 6000, "draft": 6000}


@lru_cache(maxsize=1)
def connection() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)


def client_address(request: HttpRequest) -> str:
    """The address that our outermost proxy saw. What a client writes itself into the header is not believed."""
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    if settings.PROXIES and len(hops) >= settings.PROXIES:
        return hops[-settings.PROXIES]
    return request.META.get("REMOTE_ADDR", "")


def within_limit(request: HttpRequest, action: str) -> bool:
    """Count one try; False when this address had more than its share in this hour.

    Kept for an hour at most, under a keyed hash. Without Valkey nobody is turned away: participants come first.
    """
    limit = LIMITS[action] * settings.LIMIT_FACTOR
    if not limit or (settings.DEBUG and client_address(request) in OWN):
        return True
    hour = int(time.time() // HOUR)
    address = f"{action} {hour} {client_address(request)}".encode()
    key = "limit:" + hmac.new(settings.SECRET_KEY.encode(), address, hashlib.sha256).hexdigest()[:32]
    try:
        pipe = connection().pipeline(transaction=False)
        pipe.incr(key)
        pipe.expire(key, HOUR)
        return pipe.execute()[0] <= limit
    except redis.RedisError:
        return True
