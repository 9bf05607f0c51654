"""The control plane's programs, built from their Go modules once per version into a cache outside the tree.

A folder of the cache is named by what decides its content, and a stamp in it says that it is complete: a later run
builds nothing and needs no Go.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
FLAGS = ("-mod=readonly", "-buildvcs=false", "-v")
_STAMP = "complete"
_REPORT_SECONDS = 10.0

Report = Callable[[str], None]


class NoGo(Exception):
    """Nothing was built yet, and nothing can be."""


class BuildFailed(Exception):
    """`go build` failed; the message ends with its last lines."""


@dataclass(frozen=True)
class Toolset:
    """The programs of one `go.mod` under `tools/`.

    `programs` maps a file name to a package, `stamped` a variable to what the linker writes into it (`{version}`,
    `{major}` and `{minor}` are filled in), `kept` are folders of the module that are needed beside the programs.
    """

    folder: str
    module: str
    programs: Mapping[str, str]
    stamped: Mapping[str, str]
    kept: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of the module, as go.mod pins it."""
        found = re.search(rf"^(?:require|\t) ?{re.escape(self.module)} (v\S+)", self._text("go.mod"), re.MULTILINE)
        assert found, f"{self.folder}/go.mod does not require {self.module}"
        return found[1]

    @property
    def key(self) -> str:
        """The name of the cache's folder."""
        content = [self._text("go.mod"), self._text("go.sum"), repr(self), *FLAGS]
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()[:10]
        return f"{self.folder}-{self.version}-{sys.platform}-{platform.machine()}-{digest}"

    def _text(self, name: str) -> str:
        return (TOOLS / self.folder / name).read_text(encoding="utf-8")


KUBERNETES = Toolset(
    folder="kubernetes",
    module="k8s.io/kubernetes",
    programs={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        # Go brings a program that makes self-signed certificates.
        "certificate": "{goroot}/src/crypto/tls/generate_cert.go",
    },
    stamped={
        "k8s.io/component-base/version.gitVersion": "{version}",
        "k8s.io/component-base/version.gitMajor": "{major}",
        "k8s.io/component-base/version.gitMinor": "{minor}",
    },
)
KUEUE = Toolset(
    folder="kueue",
    module="sigs.k8s.io/kueue",
    programs={"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
    stamped={"sigs.k8s.io/kueue/pkg/version.GitVersion": "{version}"},
    kept=("config/components/crd", "config/components/webhook"),
)


def built(tools: Toolset, report: Report) -> Path:
    """The folder with the programs of `tools`, built now where the cache lacks them.

    Raises NoGo and BuildFailed. Two runs at once build one after the other.
    """
    folder = cache() / tools.key
    if (folder / _STAMP).exists():
        return folder
    if shutil.which("go") is None:
        raise NoGo(f"the Go toolchain is not installed, and {tools.folder} {tools.version} was not built before")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if not (folder / _STAMP).exists():
            started = time.monotonic()
            _build_all(tools, folder, report)
            (folder / _STAMP).touch()
            report(f"{tools.folder} {tools.version}: built in {time.monotonic() - started:.0f} s, kept in {folder}")
    return folder


def cache() -> Path:
    """Where programs are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hangar-e2e"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _build_all(tools: Toolset, folder: Path, report: Report) -> None:
    # Go may want to write beside a go.mod; the tree is not its place.
    module = folder / "module"
    shutil.copytree(TOOLS / tools.folder, module, dirs_exist_ok=True)
    major, minor, *_ = tools.version.removeprefix("v").split(".")
    words = {"version": tools.version, "major": major, "minor": minor, "goroot": _go(module, "env", "GOROOT")}
    stamps = " ".join(f"-X {name}={value.format(**words)}" for name, value in tools.stamped.items())
    for number, (program, package) in enumerate(tools.programs.items(), 1):
        title = f"{tools.folder} {tools.version}: {program} ({number} of {len(tools.programs)})"
        report(f"{title}: building from its Go module, once")
        _build(module, folder / program, package.format(**words), f"-s -w {stamps}", title, report)
    if tools.kept:
        source = Path(_go(module, "list", "-m", "-f", "{{.Dir}}", tools.module))
        for kept in tools.kept:
            shutil.copytree(source / kept, folder / kept, dirs_exist_ok=True, copy_function=shutil.copyfile)


def _build(module: Path, target: Path, package: str, ldflags: str, title: str, report: Report) -> None:
    """One `go build`, told of every ten seconds: `-v` names each package that it compiles."""
    command = [*_nice(), "go", "build", *FLAGS, f"-ldflags={ldflags}", "-o", str(target), package]
    lines: list[str] = []
    started = told = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - Go, with arguments of ours
        command, cwd=module, env=_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr or ():
            lines.append(line)
            if time.monotonic() - told >= _REPORT_SECONDS:
                told = time.monotonic()
                report(f"{title}: {len(lines)} packages, {told - started:.0f} s, now {line.strip()}")
    if process.returncode != 0:
        raise BuildFailed(f"go build {package} failed:\n{''.join(lines[-20:])}")


def _go(module: Path, *arguments: str) -> str:
    command = ["go", *arguments]
    done = subprocess.run(  # noqa: S603 - Go, with arguments of ours
        command, cwd=module, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.strip()


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}


def _nice() -> list[str]:
    """Whoever works on this machine meanwhile goes first."""
    return ["nice", "-n", "15"] if shutil.which("nice") else []
