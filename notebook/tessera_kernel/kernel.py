"""The Jupyter kernel: a Session, spoken to over Jupyter's protocol."""
import signal
import threading
import traceback

from ipykernel.kernelbase import Kernel

from . import __version__
from .session import Session
from .toolchain import SetupError, Toolchain


class TesseraKernel(Kernel):
    implementation = "tessera_kernel"
    implementation_version = __version__
    language = "c++"
    language_version = "20"
    language_info = {"name": "c++", "version": "20", "mimetype": "text/x-c++src", "file_extension": ".cc", "codemirror_mode": "text/x-c++src",
                     "pygments_lexer": "cpp"}
    banner = "C++ with Tessera"
    toolchain_file = None  # set by __main__

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.session_of_cells = None

    def _session(self):
        if self.session_of_cells is None:
            self.session_of_cells = Session(Toolchain.load(self.toolchain_file), self._output, self._display, self._result)
        return self.session_of_cells

    def _output(self, stream, text):
        if not self._silent:
            self.send_response(self.iopub_socket, "stream", {"name": stream, "text": text})

    def _display(self, contents):
        if not self._silent:
            self.send_response(self.iopub_socket, "display_data", {"data": contents, "metadata": {}})

    def _result(self, contents):
        if not self._silent:
            self.send_response(self.iopub_socket, "execute_result",
                               {"execution_count": self.execution_count, "data": contents, "metadata": {}})

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        self._silent = silent
        if not code.strip():
            return self._done()
        try:
            session = self._session()
        except OSError as e:
            return self._failed("SetupError", str(e))
        # An interrupt reaches this process as a signal, and is handed on.
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, lambda *_: session.interrupt())
        try:
            failure = session.run(code, self.execution_count)
        except SetupError as e:
            return self._failed("SetupError", str(e))
        except Exception:  # a mistake of the kernel must not look like one of the user
            return self._failed("KernelError", f"the kernel itself made a mistake:\n{traceback.format_exc()}")
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
        return self._done() if failure is None else self._failed(failure.name, failure.text)

    def _done(self):
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _failed(self, name, text):
        content = {"ename": name, "evalue": text.split("\n")[0], "traceback": [f"{name}: {text}"]}
        if not self._silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    def do_complete(self, code, cursor_pos):
        begin = cursor_pos
        while begin > 0 and (code[begin - 1].isalnum() or code[begin - 1] == "_"):
            begin -= 1
        word = code[begin:cursor_pos]
        names = self.session_of_cells.program.names() if self.session_of_cells is not None and word else []
        return {"status": "ok", "matches": [n for n in names if n.startswith(word)], "cursor_start": begin, "cursor_end": cursor_pos,
                "metadata": {}}

    def do_shutdown(self, restart):
        if self.session_of_cells is not None:
            self.session_of_cells.end()
            self.session_of_cells = None
        return {"status": "ok", "restart": restart}
