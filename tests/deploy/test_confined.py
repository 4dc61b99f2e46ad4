"""The service runs confined like the image: nobody's user, nothing to write but its folder and /tmp."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.deploy.test_deploy import USER, dockerfile
from tests.server.support import until

ROOT = Path(__file__).parents[2]
STATE = "/srv"  # stands for /var/lib/toolsearch, which need not be here
# Every mount but those of the kernel becomes read-only, as with `docker run --read-only --tmpfs /tmp`.
CONFINE = f"""
set -e
mount --bind "$1" {STATE}
# Unless what is run lies there.
case "$PYTHONPATH:$HOME_OF_PYTHON:" in
  /tmp/*|*:/tmp/*) ;;
  *) mount -t tmpfs -o mode=1777 tmpfs /tmp ;;
esac
cut -d' ' -f2 /proc/self/mounts | while read -r at; do
  case "$at" in
    /proc|/proc/*|/sys|/sys/*|/dev|/dev/*|/tmp|{STATE}) ;;
    *) mount -o remount,bind,ro "$at" ;;
  esac
done
shift
cd {STATE}
for place in / "$PYTHONPATH" "$HOME_OF_PYTHON" /var /usr; do
  if touch "$place/written" 2>/dev/null; then echo "$place can be written"; exit 9; fi
done
exec "$@"
"""
# Nobody's user may not look into a home where Python is installed, so it keeps the right to read.
AS_NOBODY = (
    *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"),
    *(f"--{kind}=-all,+dac_read_search" for kind in ("bounding-set", "inh-caps", "ambient-caps")),
)
IN_NAMESPACE = ("unshare", "--mount", "--propagation", "private")


def _may_confine() -> bool:
    if not all(map(shutil.which, ("unshare", "setpriv"))) or not Path(STATE).is_dir():
        return False
    tried = [*IN_NAMESPACE, "sh", "-c", 'mount -t tmpfs tmpfs /tmp && exec "$@"', "sh", *AS_NOBODY, "true"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def _environment() -> dict[str, str]:
    """The variables of the image, in place of those that are here."""
    (told,) = (rest for word, rest in dockerfile() if word == "ENV")
    image = dict(re.findall(r"(\w+)=(\S+)", told))
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME_OF_PYTHON": sys.prefix}
    return {**image, **own, "HOME": "/nonexistent", "NO_COLOR": "1"}


@pytest.mark.skipif(not _may_confine(), reason="needs the right to make a mount namespace")
def test_it_serves_and_stops_on_a_read_only_file_system_as_nobody(tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(ROOT / "indexes" / "demo" / "index", state / "index")
    for path in (state, *state.rglob("*")):
        os.chown(path, USER, USER)
    serve = (sys.executable, "-m", "toolsearch", "serve", "index", "--database", "service.db", "--port", "0")
    command = [*IN_NAMESPACE, "sh", "-c", CONFINE, "sh", str(state), *AS_NOBODY, *serve]
    log = tmp_path / "log"
    with (
        log.open("w") as told,
        subprocess.Popen(command, stderr=told, stdout=told, env=_environment()) as process,
    ):
        try:
            until(lambda: process.poll() is not None or " at http://" in log.read_text(), tries=6000)
            assert process.poll() is None, log.read_text()
            assert str(USER) in _field(process.pid, "Uid")
            (url,) = re.findall(r"at (http://\S+)", log.read_text())
            with httpx.Client(base_url=url, timeout=60) as http:
                until(lambda: http.get("/readyz").status_code == 200)
                hits = http.post("/v1/search", json={"queries": "refund an order", "k": 1}).json()["hits"]
                ping = {"name": "ping", "server": "net", "description": "Ping a host."}
                assert http.put("/v1/tools/net__ping", json=ping).status_code == 201
                loaded = http.post("/v1/sessions/s/load", json={"names": ["net__ping", hits[0]["name"]]})
                assert loaded.json()["discovered"] == ["net__ping", hits[0]["name"]]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in {0, -signal.SIGTERM}, log.read_text()
        finally:
            if process.poll() is None:
                process.kill()
    assert "Traceback" not in log.read_text()
    assert {path.stat().st_uid for path in state.rglob("*")} == {USER}
    assert any(b'"ping"' in file.read_bytes() for file in (state / "index").rglob("tools.jsonl"))
    assert (state / "service.db").stat().st_size > 0


def _field(pid: int, name: str) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return line.split()[1:]
