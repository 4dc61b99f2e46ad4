"""Compare with other tool searches.

    python -m benchmarks.peers setup
    python -m benchmarks.peers run [--peer NAME] [--set NAME] [--data DIR] [--out FILE]

`setup` installs each peer into an environment of its own under .cache/benchmarks/peers. `run` asks each of
them and ours the same queries, and writes benchmarks/results/peers.json, which `python -m benchmarks.report`
shows. A peer that is not installed or fails is named and marked as not run. With `--peer` or `--set` figures
are only printed, unless `--out` says where to write them.
Exit code 0: done; 1: a peer could not be installed or run; 2: nothing could be run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.conditions import read_conditions
from benchmarks.data import DEFAULT_DATA, is_there, load_named
from benchmarks.peers.comparison import OURS, PEERS_RESULT, result, run_ours, run_peer, sampled, write
from benchmarks.peers.environments import install, is_installed, worker_command
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.registry import PEERS, Peer
from benchmarks.results import REFERENCE
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EvaluationError, ToolSearchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "setup":
            return setup(options.peer or PEERS)
        return run(options)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2


def setup(names: Iterable[str]) -> int:
    """Install these peers."""
    failed = 0
    for name in names:
        try:
            done = install(PEERS[name])
        except EvaluationError as exc:
            print(f"{name}: {exc}", file=sys.stderr)
            failed = 1
        else:
            print(f"{name}: {'installed' if done else 'is installed'}")
    return failed


def run(options: argparse.Namespace) -> int:
    """Run the comparison that the options ask for."""
    names = options.set or list(read_conditions()[REFERENCE].expected)
    there = [name for name in names if is_there(name, options.data)]
    for name in names:
        if name not in there:
            print(f"skipped: {name} cannot be read here", file=sys.stderr)
    if not there:
        return 2
    whole = [load_named(name, options.data) for name in there]
    datasets = [sampled(dataset) for dataset in whole]
    entries = [
        *(run_ours(name, datasets, _say) for name in OURS),
        *(
            run_peer(name, datasets, _start if is_installed(PEERS[name]) else None, _say)
            for name in options.peer or PEERS
        ),
    ]
    asked = {dataset.name: sum(bool(query.gold) for query in dataset.queries) for dataset in whole}
    found = result(entries, datasets, asked)
    if options.out or not (options.peer or options.set):
        write(found, options.out or PEERS_RESULT)
    return int(any(entry.about["status"] != "run" for entry in entries))


def _say(line: str) -> None:
    print(line, flush=True)


def _start(peer: Peer, embedder: Embedder | None) -> PeerProcess:
    return PeerProcess(worker_command(peer), embedder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="Compare with other tool searches."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command, text in (("setup", "install the peers"), ("run", "compare, and write the result")):
        sub = commands.add_parser(command, help=text)
        sub.add_argument("--peer", action="append", choices=PEERS, help="only this one; may be repeated")
        if command == "run":
            sub.add_argument("--set", action="append", metavar="NAME", help="only this one; may be repeated")
            sub.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="bench sets")
            sub.add_argument("--out", type=Path, metavar="FILE", help="where the result goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
