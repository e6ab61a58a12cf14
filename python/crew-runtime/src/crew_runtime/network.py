"""What the process of a replay may reach: models, while one is asked, and nothing else."""

import socket
import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

_LOOKUP = "socket.getaddrinfo"
_CONNECTION = "socket.connect"
_REFUSED = {
    _LOOKUP,
    _CONNECTION,
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
    "socket.sendto",
    "socket.sendmsg",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
}
_PORTS = {"http": 80, "https": 443}


def close_network(urls: Iterable[str], is_open: Callable[[], bool]) -> None:
    """Refuses connections, names and programs, for as long as the process lasts.

    While `is_open`, the hosts of `urls` are looked up, and connections to what their names stand
    for are made, at the ports of the URLs.
    """
    ports: dict[str, set[int]] = {}
    for url in urls:
        host, port = _place_of(url)
        ports.setdefault(host, set()).add(port)
    # Of a host that is an address, some libraries look nothing up.
    places = {(host, port) for host, known in ports.items() for port in known}
    look_up = socket.getaddrinfo

    def noted(host: Any, *args: Any, **kwargs: Any) -> Any:
        found = look_up(host, *args, **kwargs)
        for *_, address in found:
            places.update((str(address[0]), port) for port in ports.get(_name_of(host), ()))
        return found

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event not in _REFUSED:
            return
        is_known = (event == _LOOKUP and _name_of(args[0]) in ports) or (
            event == _CONNECTION and isinstance(args[1], tuple) and args[1][:2] in places
        )
        if is_known and is_open():
            return
        print(f"{event} is refused: this is a replay.", file=sys.stderr)
        raise ConnectionRefusedError(
            f"A replay asks nobody, and {event} is refused. Put what asks others into a tool: its "
            "answer is in the record."
        )

    if ports:
        socket.getaddrinfo = noted
    sys.addaudithook(refuse)


def _place_of(url: str) -> tuple[str, int]:
    address = urlsplit(url)
    return _name_of(address.hostname), address.port or _PORTS.get(address.scheme, 0)


def _name_of(host: Any) -> str:
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    return text.lower().rstrip(".")
