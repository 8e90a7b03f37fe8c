"""The process in which cells run: it is apart from the kernel, so that a crash ends only this process."""
import base64
import os
import select
import signal
import struct
import subprocess
import zlib


class Ended(Exception):
    """The process is gone."""

    def __init__(self, status):
        super().__init__(str(status))
        self.status = status


class Process:
    """Starts the runner. `output(name, text)` is called with what is printed while cells run."""

    def __init__(self, runner, folder, output):
        self.output = output
        read_commands, self.commands = os.pipe()
        self.messages, write_messages = os.pipe()
        self.child = subprocess.Popen([str(runner), str(read_commands), str(write_messages)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, pass_fds=(read_commands, write_messages), cwd=folder, start_new_session=True)
        os.close(read_commands)
        os.close(write_messages)
        self.printed = {self.child.stdout.fileno(): "stdout", self.child.stderr.fileno(): "stderr"}
        self.pending = {fd: b"" for fd in self.printed}
        for fd in (*self.printed, self.messages):
            os.set_blocking(fd, False)
        self.buffer = b""

    def run(self, path, tick):
        """Loads an object and yields the messages of its cell, (kind, texts), until the last one. `tick` is called now and then."""
        self._send(f"{path}\n")
        while True:
            for message in self._received():
                self._drain()
                yield message
                if message[0] in "DR":
                    self._send("\n")  # the cell goes on
                if message[0] in "FIEL":
                    return
            ready, _, _ = select.select([*self.printed, self.messages], [], [], 0.1)
            tick()
            for fd in list(ready):
                if fd in self.printed:
                    self._read(fd)
            if self.messages in ready and not self._fill():
                self._drain()
                raise Ended(self.child.wait())

    def _send(self, text):
        try:
            os.write(self.commands, text.encode())
        except BrokenPipeError:
            raise Ended(self.child.wait()) from None

    def interrupt(self):
        self.child.send_signal(signal.SIGINT)

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        for fd in (self.commands, self.messages):
            try:
                os.close(fd)
            except OSError:
                pass
        self.child.stdout.close()
        self.child.stderr.close()

    def _fill(self):
        while True:
            try:
                data = os.read(self.messages, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.buffer += data

    def _received(self):
        """The messages that have arrived whole."""
        while len(self.buffer) >= 5:
            kind, (count,) = chr(self.buffer[0]), struct.unpack_from("<I", self.buffer, 1)
            at, texts = 5, []
            for _ in range(count):
                if len(self.buffer) < at + 4:
                    return
                size, = struct.unpack_from("<I", self.buffer, at)
                if len(self.buffer) < at + 4 + size:
                    return
                texts.append(self.buffer[at + 4:at + 4 + size].decode(errors="replace"))
                at += 4 + size
            self.buffer = self.buffer[at:]
            yield kind, texts

    def _drain(self):
        for fd in list(self.printed):
            self._read(fd)

    def _read(self, fd):
        """Hands on what was printed, as far as it is whole characters."""
        data = b""
        while True:
            try:
                part = os.read(fd, 1 << 16)
            except BlockingIOError:
                break
            if not part:
                del self.printed[fd]
                self.output_of(fd, data, whole=True)
                return
            data += part
        if data:
            self.output_of(fd, data)

    def output_of(self, fd, data, whole=False):
        name = "stdout" if fd == self.child.stdout.fileno() else "stderr"
        data = self.pending[fd] + data
        end = len(data)
        if not whole:
            for back in range(1, min(4, len(data)) + 1):  # an unfinished character of UTF-8
                byte = data[-back]
                if byte & 0xC0 == 0xC0:
                    size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                    end = len(data) - back if size > back else end
                    break
                if byte < 0x80:
                    break
        self.pending[fd] = data[end:]
        if data[:end]:
            self.output(name, data[:end].decode(errors="replace"))


def contents(packed):
    """The contents of a picture by MIME type, as nb::display packs them."""
    found, data = {}, packed.encode()
    while data:
        kind, size, data = data.split(b"\n", 2)
        text = data[:int(size)].decode(errors="replace")
        found[kind.decode()] = compressed(text) if kind == b"image/png" else text
        data = data[int(size):]
    return found


def compressed(image):
    """A PNG file in base64, whose pixels the cell's process only stores, with compressed pixels."""
    data, out, at = base64.b64decode(image), b"", 8
    while at < len(data):
        size, = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        if kind == b"IDAT":
            body = zlib.compress(zlib.decompress(body), 9)
        out += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        at += 12 + size
    return base64.b64encode(data[:8] + out).decode()


def described(status):
    """How a process ended, for the user."""
    if status >= 0:
        return f"ended with exit code {status}"
    name = signal.Signals(-status).name
    meaning = {"SIGSEGV": "an access to memory that is not there", "SIGABRT": "a call of abort, such as by a failed assertion or an exception "
               "that left a destructor or a thread", "SIGFPE": "a division by zero of integers", "SIGKILL": "it was ended from outside, perhaps "
               "because memory ran out", "SIGBUS": "an access to memory that is not there", "SIGILL": "an instruction that the processor does "
               "not have, or a function without a return"}.get(name)
    return f"ended by {name}" + (f" ({meaning})" if meaning else "")
