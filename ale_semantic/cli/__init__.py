"""The command line: `ale-semantic`. Only this package prints; it turns each fault into one line and exit code 2."""

from __future__ import annotations

import atexit
import gc
import os
import sys

# What a start makes stays for good: the collector finds nothing in it, and took a tenth of the time to look for it.
_COLLECT_EVERY = 200_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_COLLECT_EVERY)
    atexit.register(gc.freeze)  # at its end Python would look through all of it, object by object, to let it go
    # NumPy reads this once. A query's products are too small to be divided among threads, and where that is out of the
    # question they are made in fewer pieces (ale_semantic/products.py). A build has other work beside them, and those
    # threads spin for a while after each product. FAISS brings a BLAS of its own, which doesn't read this.
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


def _flush() -> None:
    """Write what is left to stdout; a reader (head, less) that has seen enough is no fault."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Without this Python complains when it closes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
