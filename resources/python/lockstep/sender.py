# SPDX-License-Identifier: MIT
"""The connection of a rank to its run's agent or to a listener."""
from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import socket
import stat
import sys
import threading
import weakref
from time import monotonic_ns, time_ns
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Set, Tuple, Union

from lockstep import frames, signals
from lockstep.stacks import stacks

FRAMES, TOKEN = "LOCKSTEP_FRAMES", "LOCKSTEP_FRAMES_TOKEN"  # variables: whom frames go to, and what they are let in by
UNIX, TCP, FILE = "unix:", "tcp://", "file:"
HEARTBEAT_S = 1.0
CONNECT_S = 0.5  # longest wait for a connection, whatever number of addresses, and for the look-up of a name before it
FAREWELL_S = 2.0  # longest wait for the last frame to leave
RETRY_NS = 5 * 10**9  # between two attempts to reach a listener
HEARD_BYTES = 4096  # how many of the received bytes are kept, the newest
UNSENT_BYTES = 4 << 20  # how many may wait for a socket that accepts none; frames beyond are dropped
REASON_LENGTH = 500  # characters of what the other side gives as one
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)  # a script may have SIGPIPE at its default, which ends it where the other side has gone


# Of the next frame to an address from a rank: a second sender of this process goes on where the first has left.
_next_numbers: Dict[Tuple[str, int], int] = {}


class Link(Protocol):
    """What a sender needs of a socket."""

    def send(self, data: Union[bytes, bytearray], flags: int = 0, /) -> int:
        """Sends some of the data, and says how many bytes."""

    def sendall(self, data: Union[bytes, bytearray], flags: int = 0, /) -> None:
        """Sends all of the data."""

    def recv(self, most: int) -> bytes:
        """What has been received. Raises BlockingIOError if that is nothing."""

    def setblocking(self, blocks: bool) -> None:
        """Whether calls wait."""

    def settimeout(self, seconds: Optional[float]) -> None:
        """How long calls wait."""

    def fileno(self) -> int:
        """The number of its descriptor."""

    def detach(self) -> int:
        """Leaves the descriptor as it is. It is not used again."""

    def close(self) -> None:
        """Ends it."""


class FrameFile:
    """FOLDER/rank-R.ndjson, which grows. Nothing is heard from it."""

    def __init__(self, folder: str, rank: int) -> None:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"rank-{rank}.ndjson")
        self._file = _opened_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._begun = 0  # bytes of a line whose rest is not written yet
        self.greeting = b"\n" if _ends_in_torn_line(path) else b""  # else the first frame would be lost with that line

    def send(self, data: Union[bytes, bytearray], flags: int = 0, /) -> int:
        """Writes some of the data. If that fails, as on a full disk, a line that was begun is taken back."""
        try:
            written = os.write(self._file, data)
        except OSError:
            self._take_back()
            raise
        whole = data.rfind(b"\n", 0, written) + 1
        self._begun = written - whole if whole else self._begun + written
        return written

    def _take_back(self) -> None:
        """Half a line would spoil the next one. It stays if somebody else has appended since."""
        with contextlib.suppress(OSError):
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            if self._begun and os.fstat(self._file).st_size == end:
                os.ftruncate(self._file, end - self._begun)
                self._begun = 0

    def sendall(self, data: Union[bytes, bytearray], flags: int = 0, /) -> None:
        """Writes all of the data."""
        while data:
            data = data[self.send(data):]

    def recv(self, most: int) -> bytes:
        """Nothing ever."""
        raise BlockingIOError

    def setblocking(self, blocks: bool) -> None:
        """A file never waits for a reader."""

    def settimeout(self, seconds: Optional[float]) -> None:
        """A file never waits for a reader."""

    def fileno(self) -> int:
        """The number of its descriptor."""
        return self._file

    def detach(self) -> int:
        """Leaves the descriptor as it is. It is not used again."""
        number, self._file = self._file, -1
        return number

    def close(self) -> None:
        """Closes the file."""
        os.close(self.detach())


class NameLookup:
    """The addresses of a host, which are looked up on a thread of its own: where name servers don't answer, that takes 20 s and more. An
    address in figures needs no thread."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._answer: Union[None, List[Any], Exception] = None
        self._answered = threading.Event()
        with contextlib.suppress(socket.gaierror):  # a name
            self._answer = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
            self._answered.set()
            return
        with signals.blocked():
            threading.Thread(target=self._look_up, name="lockstep-names", daemon=True).start()

    def _look_up(self) -> None:
        try:
            self._answer = socket.getaddrinfo(self._host, self._port, 0, socket.SOCK_STREAM)
        except Exception as error:
            self._answer = error
        self._answered.set()

    @property
    def over(self) -> bool:
        """Whether there is an answer."""
        return self._answered.is_set()

    def wait(self, seconds: float) -> List[Any]:
        """What getaddrinfo() gives. Raises what it raises, or TimeoutError: no answer yet."""
        if not self._answered.wait(seconds):
            raise TimeoutError(f"no name server has told the address of {self._host!r} yet")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer or []


def _identity(link: Link) -> Optional[Tuple[int, int]]:
    """Device and inode of what its descriptor names; None: nothing."""
    try:
        status = os.fstat(link.fileno())
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Sender:
    """Sends frames to LOCKSTEP_FRAMES, an address `unix:PATH` or `tcp://HOST:PORT`; or writes them into a folder, `file:FOLDER`, for
    `lockstepctl follow`.

    No method raises. Sending never waits: bytes that the socket does not accept stay in a buffer until the next frame.
    Only the first connection and the last frame may wait, for CONNECT_S (and as long for a listener's name) and
    FAREWELL_S seconds. If a frame cannot be sent, one line on stderr says why. After that a Unix socket is not used
    again. The heartbeat's thread reconnects to a listener on the network, and a frame opens a file again after
    RETRY_NS: its disk may have room again. Frames in between are dropped, and the gap in their numbers shows it to the
    reader.
    """

    def __init__(self, address: str, rank: int, token: str = "") -> None:
        self.address = address
        self.rank = rank
        self.on = bool(address)  # False: frames are ignored: there is no address, or the connection was given up
        self.stop_requested = False
        self._token = token
        # Guards the members below, because the heartbeat's thread sends too. A signal's handler, or a finalizer, may send in the middle of
        # a frame of its own thread: that frame comes after this one.
        self._lock = threading.RLock()
        self._sends = False
        self._later: List[Tuple[str, Mapping[str, Any]]] = []
        self._socket: Optional[Link] = None
        self._lookup: Optional[NameLookup] = None  # of a listener's host, until its answer is taken
        self._identity: Optional[Tuple[int, int]] = None  # of the socket when it was opened
        self._unsent = bytearray()
        self._heard = b""
        self._line = b""  # the end of it that is no whole line yet
        self._stacks_asked = False
        self._states: Dict[str, Mapping[str, Any]] = {}  # the newest of each, the newest of all last
        self._too_long: Set[str] = set()  # kinds of frames of which one was longer than a line may be
        self._missed: Set[str] = set()  # the names of those that no connection has taken
        self._retry_at_ns = 0
        self._last_reason = ""
        self._ended = threading.Event()
        self._heartbeat: Optional[threading.Thread] = None
        self._beat_body: Callable[[], Mapping[str, Any]] = dict
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=functools.partial(_call_if_there, weakref.WeakMethod(self._forked)))

    def _forked(self) -> None:
        """A child of this process is another process, not this rank, and has its own end; the connection is its parent's."""
        self.on = False
        self._lock = threading.RLock()  # another thread may have held it
        self._disconnect()

    @property
    def pending(self) -> int:
        """How many bytes the socket has not accepted yet."""
        return len(self._unsent)

    def connect(self) -> None:
        """Connects if frames are to be sent and there is no connection."""
        lookup = self._lookup  # the heartbeat's thread may take it away
        named = lookup is not None and lookup.over
        if not self.on or self._socket or (monotonic_ns() < self._retry_at_ns and not named):
            return
        try:
            opened: Link
            if self.address.startswith(FILE):
                file = FrameFile(self.address[len(FILE):], self.rank)
                opened, greeting = file, file.greeting
            else:
                opened = self._listener() if self.address.startswith(TCP) else _opened(self.address)
                greeting = frames.hello(self.rank, os.getpid(), socket.gethostname(), self._token)
        except Exception as error:
            signals.pass_on(error)
            self.give_up(error)
            return
        with self._lock:
            self._socket, self._unsent, self._heard, self._line = opened, bytearray(greeting), b"", b""
            self._identity = _identity(opened)
            for body in self._untold_states():
                self.send("state", body)

    def _listener(self) -> socket.socket:
        """A connection to the listener. Its host is looked up anew for each, since it may have moved."""
        host, _, port = self.address[len(TCP):].rpartition(":")
        lookup = self._lookup = self._lookup or NameLookup(host.strip("[]"), int(port))
        try:
            addresses = lookup.wait(CONNECT_S)
        finally:
            self._lookup = None if lookup.over else lookup
        return _connected(addresses)

    def _untold_states(self) -> List[Mapping[str, Any]]:
        """What a new connection has to be told first, else nobody would know what this process is. A listener that is reached again may
        have been started again, and know nothing."""
        newest = list(self._states)[-1:]
        return [body for name, body in self._states.items() if name in self._missed or name in ("init", *newest)]

    def start_heartbeat(self, body: Callable[[], Mapping[str, Any]]) -> None:
        """Sends a heartbeat each second from a thread, so that a stop is noticed even while the script is busy."""
        self._beat_body = body
        if not self.on or self.address.startswith(FILE):  # nobody can ask through a file
            return
        try:
            self._heartbeat = threading.Thread(target=self._beat, name="lockstep-heartbeat", daemon=True)
            with signals.blocked():
                self._heartbeat.start()
        except RuntimeError as error:  # no more threads
            self._heartbeat = None
            self.give_up(error)

    def send(self, kind: str, body: Mapping[str, Any]) -> None:
        """Sends a frame, or keeps it until the socket accepts it."""
        self._send(kind, body, wait=False)

    def send_last(self, kind: str, body: Mapping[str, Any]) -> None:
        """Sends the last frame and waits up to FAREWELL_S until it is sent. Ends the heartbeats."""
        self._ended.set()
        if self._heartbeat:
            self._heartbeat.join(CONNECT_S)
        if self.address.startswith(FILE):
            self._retry_at_ns = 0  # nothing comes after it
        self.connect()
        self._send(kind, body, wait=True)

    def leave(self) -> None:
        """Ends the connection without a word."""
        self._ended.set()
        with self._lock:
            self.on = False
            self._disconnect()

    def _is_ours(self) -> bool:
        """Whether the socket's descriptor still names it. A script that closes descriptors it knows nothing of may have the number itself."""
        return self._socket is not None and _identity(self._socket) == self._identity

    def _disconnect(self) -> None:
        """Ends the connection, and leaves alone what is the script's."""
        if self._socket is not None:
            (self._socket.close if self._is_ours() else self._socket.detach)()
        self._socket, self._unsent = None, bytearray()

    def give_up(self, error: BaseException) -> None:
        """Prints to stderr that the rank is no longer shown, and why."""
        with self._lock:
            self._give_up(error)

    def _refusal(self) -> str:
        """The reason that the other side gave for closing the connection; empty if it gave none."""
        if self._socket is None or not self._is_ours():
            return ""
        with contextlib.suppress(OSError):
            self._socket.setblocking(False)
            self._heard += self._socket.recv(HEARD_BYTES)
        return _error_in(self._heard)

    def _beat(self) -> None:
        while self.on and not self._ended.wait(HEARTBEAT_S):
            self.connect()
            self.send("heartbeat", self._beat_body())
            if self._stacks_asked:
                self._stacks_asked = False
                for line in stacks():
                    self.send("log", {"level": "info", "source": "stack", "message": line})

    def _send(self, kind: str, body: Mapping[str, Any], wait: bool) -> None:
        with self._lock:
            if not self.on:
                return
            if self._sends:
                self._later.append((kind, dict(body)))
                return
            if self.address.startswith(FILE):
                self.connect()  # again, if it is time: a file has no heartbeats
            self._sends = True
            try:
                self._queue(kind, body)
                while self._later:
                    self._queue(*self._later.pop(0))
                self._transmit(wait)
            except Exception as error:
                signals.pass_on(error)
                self._give_up(error)
            finally:
                self._sends = False

    def _queue(self, kind: str, body: Mapping[str, Any]) -> None:
        stamp = {"rank": self.rank, "rseq": _next_numbers.get((self.address, self.rank), 0), "mono_ns": monotonic_ns(), "wall_us": time_ns() // 1000}
        _next_numbers[self.address, self.rank] = stamp["rseq"] + 1  # also without a connection: a gap shows that frames are missing
        taken = self._socket is not None and len(self._unsent) < UNSENT_BYTES
        if taken:
            line = frames.frame(kind, stamp, body)
            if len(line) > frames.MOST_BYTES:
                if kind in self._too_long:  # said before
                    _next_numbers[self.address, self.rank] = stamp["rseq"]
                    return
                self._too_long.add(kind)
                line = frames.frame("alert", stamp, {
                    "severity": "warning", "kind": "refused_frame", "message":
                    f"rank {self.rank}: a frame {kind[:frames.LONGEST_TEXT]!r} of {len(line)} bytes is left out, and so is every other one of "
                    f"more than {frames.MOST_BYTES}: send less in one"})
            self._unsent += line
        if kind == "state":
            name = str(body.get("state"))
            self._states.pop(name, None)
            self._states[name] = body
            (self._missed.discard if taken else self._missed.add)(name)

    def _transmit(self, wait: bool) -> None:
        if not self._socket:
            return
        if not self._is_ours():
            raise ConnectionError("the script has closed the connection")
        if wait:
            self._socket.settimeout(FAREWELL_S)
            self._socket.sendall(self._unsent, NO_SIGNAL)
            self._unsent.clear()
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            del self._unsent[:self._socket.send(self._unsent, NO_SIGNAL)]
        with contextlib.suppress(BlockingIOError):
            self._hear(self._socket.recv(HEARD_BYTES))

    def _hear(self, received: bytes) -> None:
        self._heard = (self._heard + received)[-HEARD_BYTES:]
        *lines, line = (self._line + received).split(b"\n")
        self._line = line[-HEARD_BYTES:]
        self.stop_requested = self.stop_requested or b'"command":"stop"' in self._heard
        self._stacks_asked = self._stacks_asked or any(b'"command":"stacks"' in each for each in lines)

    def _give_up(self, error: BaseException) -> None:
        if not self.on:
            return
        # Of a file, what the system reports may pass. What is no file (_opened_regular), or is no longer ours, does not.
        self.on = isinstance(error, OSError) and (
            self.address.startswith(TCP) or self.address.startswith(FILE) and error.errno is not None)
        reason = str(error) or type(error).__name__
        if isinstance(error, OSError):
            reason = self._refusal() or reason
        self._disconnect()
        self._retry_at_ns = monotonic_ns() + RETRY_NS
        if reason != self._last_reason:  # print each reason once, although a listener is tried repeatedly
            self._last_reason = reason
            with contextlib.suppress(Exception):  # stderr may be closed
                print(f"lockstep: rank {self.rank} is no longer shown ({reason}); training goes on", file=sys.stderr)


def keep_folder() -> None:
    """Makes a folder for frames absolute in the environment: the script may go to another one, as Hydra does, before it reports or starts
    processes that do."""
    address = os.environ.get(FRAMES, "")
    if address.startswith(FILE) and len(address) > len(FILE):
        with contextlib.suppress(OSError):  # this process's own folder is gone
            os.environ[FRAMES] = FILE + os.path.abspath(address[len(FILE):])


def _opened_regular(path: str, flags: int) -> int:
    """The descriptor of a file. A pipe in its place, which is waited for, or a link, which leads elsewhere, is refused: others may write to the
    folder."""
    refusal = OSError(f"{path} is not a regular file")
    try:
        file = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise refusal if error.errno in (errno.ELOOP, errno.ENXIO) else error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise refusal
    return file


def _ends_in_torn_line(path: str) -> bool:
    """Whether the file's last line has no end: the disk was full, or the power was lost."""
    try:
        with open(_opened_regular(path, os.O_RDONLY), "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # it is empty, or may not be read
        return False


def _call_if_there(method: "weakref.WeakMethod[Callable[[], None]]") -> None:
    """Calls a method of an object that may be gone."""
    known = method()
    if known is not None:
        known()


def _error_in(heard: bytes) -> str:
    """The message of the error line in the received bytes; empty if there is none."""
    for line in heard.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            received = json.loads(line)
            if isinstance(received, dict) and received.get("type") == "error":
                message = str(received.get("message", ""))[:REASON_LENGTH]
                return "".join(letter if letter.isprintable() else "?" for letter in message)  # it goes to a terminal
    return ""


def _connected(addresses: List[Any]) -> socket.socket:
    """A connection to the first address, as getaddrinfo() gives them, that takes one. Each gets a share of the time that is left."""
    failure = OSError("there is no address")
    until_ns = monotonic_ns() + int(CONNECT_S * 1e9)
    for number, (family, kind, protocol, _, place) in enumerate(addresses):
        try:
            opened = socket.socket(family, kind, protocol)
        except OSError as error:  # no IPv6 here
            failure = error
            continue
        try:
            left_s = (until_ns - monotonic_ns()) / 1e9
            opened.settimeout(max(left_s, 0.001) / (len(addresses) - number))  # 0 would not wait at all
            opened.connect(place)
            opened.settimeout(CONNECT_S)
            return opened
        except OSError as error:
            opened.close()
            failure = error
    raise failure


def _opened(address: str) -> socket.socket:
    if not address.startswith(UNIX):
        raise ValueError(f"LOCKSTEP_FRAMES is {address!r}, neither {UNIX}PATH nor {TCP}HOST:PORT")
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(CONNECT_S)
        opened.connect(address[len(UNIX):])
    except OSError:
        opened.close()
        raise
    return opened
