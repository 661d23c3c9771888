"""How far a long answer is: on a terminal a line that is written over, in a notebook one that is renewed."""

import sys
import time

_patience = 1.0  # seconds; answers that are faster show nothing
_between = 0.2


def _notebook():
    """What renews a line in a notebook, or None outside of one."""
    shell = sys.modules.get("IPython")
    kernel = shell and shell.get_ipython()
    if kernel is None or not hasattr(kernel, "kernel"):
        return None
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    return lambda text: handle.update(HTML(text))


class Shown:
    def __init__(self, command):
        self._command, self._begin = command, time.monotonic()
        self._next = self._begin + _patience
        self._write = None

    def __call__(self, done, total):
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _between
        if self._write is None:
            self._write = _notebook() or self._on_terminal
        seconds = now - self._begin
        text = f"sgdsim {self._command}: {seconds:.0f} s"
        if total and done:
            left = seconds / done * (total - done)
            text = f"sgdsim {self._command}: {done} of {total}, {100 * done / total:.0f} %, {left:.0f} s left"
        self._write(text)

    @staticmethod
    def _on_terminal(text):
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()

    def end(self):
        if self._write is not None:
            self._write("")


def shown(command):
    """Where somebody looks."""
    in_notebook = "ipykernel" in sys.modules
    return Shown(command) if in_notebook or (sys.stderr is not None and sys.stderr.isatty()) else None
