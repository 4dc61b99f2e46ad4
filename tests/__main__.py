"""All checks of the project, as CI runs them: ``python -m tests``."""

from __future__ import annotations

import subprocess
import sys
import time

CHECKS = (
    ("format", ("ruff", "format", "--check", ".")),
    ("lint", ("ruff", "check", ".")),
    ("types", ("mypy",)),
    ("demo index", ("tests.check_demo_index",)),
    ("tests", ("pytest",)),
)


def main() -> int:
    """Run every check, also after one has failed; 0 when all passed."""
    failed = []
    for name, (module, *arguments) in CHECKS:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        # The commands are the fixed ones above.
        outcome = subprocess.run([sys.executable, "-m", module, *arguments], check=False)
        print(f"== {name}: {time.perf_counter() - started:.0f} s", flush=True)
        if outcome.returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
