"""Progress of a call: a bar of tqdm in notebooks, or a function of your own."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ._extras import needs
from ._words import wrong_type

#: None: a bar in notebooks, if tqdm is installed. True, False: a bar, none. A function is called with the
#: work done and all work, in units of the call: bytes of the capture, simulated microseconds, runs.
Progress: TypeAlias = bool | Callable[[int, int], object] | None

Show: TypeAlias = Callable[[int, int], object]

# A bar appears only for calls that last longer, seconds.
_PATIENCE = 0.5


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def reporting(progress: Progress) -> Iterator[Show | None]:
    """The function that the call reports to, or None."""
    if callable(progress):
        yield progress
        return
    if progress is not None and not isinstance(progress, bool):
        wrong_type("progress", "True, False, None or a function", progress)
    if progress is False or (progress is None and not _in_notebook()):
        yield None
        return
    try:
        with needs("progress"), warnings.catch_warnings():
            # Without ipywidgets the bar is one of characters.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # noqa: PLC0415
    except ImportError:
        if progress:
            raise
        yield None
        return
    with tqdm(leave=False, delay=_PATIENCE, miniters=1, bar_format="{percentage:3.0f}%|{bar}| {elapsed}, {remaining} left") as bar:

        def show(done: int, whole: int) -> None:
            bar.total = whole
            bar.update(done - bar.n)

        yield show
