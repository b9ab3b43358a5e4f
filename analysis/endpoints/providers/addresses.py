"""Which addresses a server may call: none inside its own network, however they are written or wherever a name leads."""

import errno
import ipaddress
import socket
from collections.abc import Iterator

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A cloud's own services at addresses that look like anybody's.
CLOUD = {ipaddress.ip_address("168.63.129.16")}
# IPv6 addresses whose last 32 bits are an IPv4 address: NAT64, its local form, IPv4-compatible ones.
CARRIERS = [ipaddress.ip_network(name) for name in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")]
ISATAP = 0x5EFE


def is_private(text: str) -> bool:
    """Whether the address, or one that it carries, is private, loopback, multicast or a cloud's."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return any(
        not each.is_global or each.is_multicast or each.is_reserved or each in CLOUD for each in _all_of(address)
    )


def _all_of(address: Address) -> Iterator[Address]:
    """The IPv4 addresses that it carries, and itself unless its first bits only say that it carries one."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
    elif address.ipv4_mapped:
        yield address.ipv4_mapped
    else:
        carried = [address.sixtofour, *(address.teredo or ())]
        number = int(address)
        if any(address in network for network in CARRIERS):
            carried.append(ipaddress.IPv4Address(number & 0xFFFFFFFF))
        yield from [each for each in carried if each] or [address]
        if number >> 32 & 0xFFFF == ISATAP:  # in any network, a private one too
            yield ipaddress.IPv4Address(number & 0xFFFFFFFF)


class PublicResolver(AbstractResolver):
    """A resolver that refuses names that lead inside, at each connection: they may have led elsewhere a moment ago."""

    def __init__(self) -> None:
        self.inner = DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self.inner.resolve(host, port, family)
        if any(is_private(entry["host"]) for entry in found):
            raise PermissionError(errno.EACCES, f"{host} leads to a private, loopback or metadata address")
        return found

    async def close(self) -> None:
        await self.inner.close()
