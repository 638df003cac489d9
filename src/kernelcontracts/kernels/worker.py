"""The process a candidate runs in: ``python -m kernelcontracts.kernels.worker REQUESTS REPLIES ARENA LIFELINE MAIN``.

The arguments are inherited descriptors, and 1 if the parent's main thread started us. Everything that must happen
before numpy starts its threads happens here.
"""

from __future__ import annotations

import sys

from kernelcontracts.kernels.confine import die_with_parent, leave_network


def main(arguments: list[str]) -> None:
    """Confine this process as far as the system allows, then serve until the parent is gone."""
    requests, replies, arena, lifeline, by_thread = (int(text) for text in arguments)
    die_with_parent(lifeline, by_thread=bool(by_thread))
    offline = leave_network()
    from kernelcontracts.kernels.serving import Channel, Worker

    Worker(Channel(requests, replies), arena, offline=offline).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
