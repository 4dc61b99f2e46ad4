"""The files of deploy/ say what is so: options, paths, variables, metrics; and they are locked down."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import service
from toolsearch.cli import app
from toolsearch.server.settings import ENVIRONMENT, ServerSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
USER = 10001


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def objects(name: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(read(name)) if each is not None]


def dockerfile() -> list[tuple[str, str]]:
    """The instructions, continued lines joined, without comments."""
    lines = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.MULTILINE))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines.splitlines() if line)]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of toolsearch, with the file it is in."""
    start, default = (json.loads(rest) for word, rest in dockerfile() if word in {"ENTRYPOINT", "CMD"})
    assert start == ["toolsearch"]
    yield "Dockerfile", default
    for each in objects("compose.yaml")[0]["services"].values():
        if "command" in each:
            yield "compose.yaml", each["command"]
    for pod in pods():
        for container in (*pod["initContainers"], *pod["containers"]):
            yield "kubernetes.yaml", container["args"]
    (line,) = re.findall(r"^ExecStart=(.*)$", read("toolsearch.service"), re.MULTILINE)
    yield "toolsearch.service", shlex.split(line)[1:]


def pods() -> list[Any]:
    return [o["spec"]["template"]["spec"] for o in objects("kubernetes.yaml") if o["kind"] == "Deployment"]


@pytest.mark.parametrize(("file", "arguments"), list(commands()))
def test_every_option_of_a_command_is_one(file: str, arguments: list[str]) -> None:
    words = arguments[:2] if arguments[0] == "db" else arguments[:1]
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, (file, done.output)
    for option in (each for each in arguments if each.startswith("--")):
        assert option in done.output, (file, option)


def test_every_variable_is_a_setting() -> None:
    known = {f"{ENVIRONMENT}{name.upper()}" for name in ServerSettings.model_fields}
    for file in DEPLOY.iterdir():
        used = set(re.findall(rf"{ENVIRONMENT}[A-Z_]+", file.read_text(encoding="utf-8")))
        assert used <= known, (file.name, used - known)


def test_the_image_runs_as_nobody_and_says_whether_it_lives() -> None:
    instructions = dockerfile()
    users = [rest for word, rest in instructions if word == "USER"]
    assert users == [f"{USER}:{USER}"]
    assert [word for word, _ in instructions].index("USER") > [word for word, _ in instructions].index("RUN")
    (check,) = (rest for word, rest in instructions if word == "HEALTHCHECK")
    assert "/healthz" in check
    for base in (rest.split()[0] for word, rest in instructions if word == "FROM"):
        assert ":" in base, "a base image without a tag"
        assert not base.endswith(":latest")
    assert not [rest for word, rest in instructions if word == "ADD"]
    for run in (rest for word, rest in instructions if word == "RUN"):
        assert "pip install" not in run or "--no-cache-dir" in run
        assert "sudo" not in run


def test_the_image_copies_what_there_is_and_what_it_is_not_kept_from() -> None:
    let_in = {line[1:] for line in read("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    for word, rest in dockerfile():
        if word != "COPY" or rest.startswith("--from"):
            continue
        for source in rest.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert source in let_in, source


def test_the_extras_of_the_image_are_extras() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (install,) = (rest for word, rest in dockerfile() if word == "RUN" and "pip install" in rest)
    (named,) = re.findall(r"'\.\[([\w,-]+)\]'", install)
    assert set(named.split(",")) <= extras["optional-dependencies"].keys()


def test_containers_of_compose_can_write_nothing_but_tmp() -> None:
    services = objects("compose.yaml")[0]["services"]
    for name in ("schema", "toolsearch"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
        assert services[name]["tmpfs"] == ["/tmp"]
        assert (DEPLOY / services[name]["build"]["context"] / "deploy" / "Dockerfile").is_file()
    assert services["toolsearch"]["ports"] == ["127.0.0.1:8400:8400"]
    assert services["toolsearch"]["depends_on"]["schema"]["condition"] == "service_completed_successfully"


def test_compose_takes_any_password() -> None:
    """In an address `/` and `@` would mean something else, and compose encodes nothing."""
    services = objects("compose.yaml")[0]["services"]
    given = services["database"]["environment"]["POSTGRES_PASSWORD"]
    for name in ("schema", "toolsearch"):
        environment = services[name]["environment"]
        assert "$" not in environment[f"{ENVIRONMENT}DATABASE"]
        assert environment["PGPASSWORD"] == given


def test_no_secret_is_written_down() -> None:
    for file in DEPLOY.iterdir():
        text = file.read_text(encoding="utf-8")
        for value in re.findall(r"(?:PASSWORD|API_KEY)(?:=|: +)([^\s)]*)", text):
            assert value in {"", "..."} or value.startswith("${"), (file.name, value)
        for password in re.findall(r"postgresql://[^:]*:([^@]*)@", text):
            assert password == "..." or password.startswith("${"), file.name


def test_pods_are_locked_down_probed_and_limited() -> None:
    (pod,) = pods()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == USER
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert container["resources"]["requests"]["cpu"]
    (container,) = pod["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    arguments = container["args"]
    shutdown_s = int(arguments[arguments.index("--shutdown-s") + 1])
    waits_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] >= shutdown_s + waits_s


def test_there_are_two_replicas_of_which_one_stays() -> None:
    by_kind = {each["kind"]: each for each in objects("kubernetes.yaml")}
    assert by_kind["Deployment"]["spec"]["replicas"] == 2
    assert by_kind["PodDisruptionBudget"]["spec"]["minAvailable"] == 1
    labels = by_kind["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert by_kind["Service"]["spec"]["selector"] == labels
    assert by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    port = by_kind["Service"]["spec"]["ports"][0]["targetPort"]
    (container,) = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert port in [each["name"] for each in container["ports"]]


def test_the_unit_stops_later_than_the_service_and_has_little_to_attack() -> None:
    unit = dict(re.findall(r"^(\w+)=(.*)$", read("toolsearch.service"), re.MULTILINE))
    assert int(unit["TimeoutStopSec"]) > ServerSettings().shutdown_s
    assert unit["DynamicUser"] == unit["NoNewPrivileges"] == "yes"
    assert unit["ProtectSystem"] == "strict"
    assert unit["CapabilityBoundingSet"] == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_can_read_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "toolsearch.service"
    unit.write_text(re.sub(r"/opt/toolsearch/bin/toolsearch", "/bin/true", read("toolsearch.service")))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "toolsearch" in done.stderr) == (0, False), done.stderr


def test_alerts_ask_for_metrics_and_routes_that_there_are() -> None:
    rules = [rule for group in objects("alerts.yaml")[0]["groups"] for rule in group["rules"]]
    with service() as served:
        served.http.post("/v1/search", json={"queries": "mail"})
        served.http.post("/v1/sessions/s/search", json={"arguments": {"queries": ["mail"]}})
        text = served.http.get("/metrics").text
    for rule in rules:
        expression = rule["expr"]
        assert expression.count("(") == expression.count(")"), rule["alert"]
        for metric in re.findall(r"toolsearch_\w+", expression):
            # There is one with PostgreSQL alone.
            assert metric in text or metric == "toolsearch_database_up", metric
        for routes in re.findall(r'route=~"([^"]*)"', expression):
            for route in routes.split("|"):
                assert f'route="{route}"' in text
        assert rule["for"]
        assert rule["annotations"]["summary"]
