"""The command line: `ale-semantic`. Only this package prints; it turns each fault into one line and exit code 2."""

from __future__ import annotations

import gc
import os
import sys

# What a start makes stays for good: the collector finds nothing in it, and took a tenth of the time to look for it.
_COLLECT_EVERY = 50_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_COLLECT_EVERY)
    if sys.argv[1:2] != ["build"]:
        # The products of one query are so small that a second thread costs more than it does, and on a busy machine the
        # first waits for it: ranking took 8 ms with one thread where it took 42 with two. NumPy reads this once.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ale_semantic.cli.loading import application
    from ale_semantic.errors import EXIT_CODE, AleSemanticError, FilterError

    try:
        application(sys.argv[1:])(prog_name="ale-semantic")
    except AleSemanticError as fault:
        print(f"ale-semantic: {fault}", file=sys.stderr)
        if isinstance(fault, FilterError) and fault.pointer():
            print(fault.pointer(), file=sys.stderr)
        sys.exit(EXIT_CODE)
    finally:
        _flush()
        gc.freeze()  # the system takes all of it back at once; without this Python looks through it object by object


def _flush() -> None:
    """Write what is left to stdout; a reader (head, less) that has seen enough is no fault."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Without this Python complains when it closes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
