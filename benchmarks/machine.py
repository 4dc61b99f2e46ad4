"""The machine that figures were measured on: what matters for speed, and nothing that names it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from toolsearch.tools import JsonObject


def describe_machine() -> JsonObject:
    """CPU model, cores, memory and load as JSON values; no host name and no path.

    `load` is the average number of runnable processes over the last minute: times measured with a load
    above the number of cores are longer than on an idle machine. What the system does not say is None.
    """
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vector_units": [
            flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni") if flag in _cpu_flags()
        ],
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        return None


def _cpu_model() -> str:
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def _cpu_flags() -> set[str]:
    return set(_cpuinfo().get("flags", "").split())


def _cpuinfo() -> dict[str, str]:
    """The first processor's entry in /proc/cpuinfo; empty where there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    entry = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in entry.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
