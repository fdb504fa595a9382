"""What is compiled into the program, for sbom.py and third-party.py: crates, Rust's standard library, the C library."""

import json
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=TOP).stdout


def cargo(*words):
    return output("cargo", *words, "--locked")


def rustc(key):
    return re.search(rf"^{key}: (.*)$", output("rustc", "-vV"), re.M)[1]


class Crates:
    """Crates of the binary that dist.sh builds; a key is a crate's name and version."""

    def __init__(self, target):
        # Only `tree` resolves features as a build does: `metadata` has those of tests too, and with them 88 crates more.
        tree = cargo("tree", "--no-default-features", "--target", target, "--edges", "normal", "--prefix", "none",
                     "--format", "{p}")
        lines = (line.split() for line in tree.splitlines() if line)
        self.linked = {(words[0], words[1].removeprefix("v")) for words in lines}
        metadata = json.loads(cargo("metadata", "--format-version", "1", "--no-default-features", "--filter-platform", target))
        by_id = {package["id"]: (package["name"], package["version"]) for package in metadata["packages"]}
        packages = {by_id[package["id"]]: package for package in metadata["packages"]}
        self.packages = {key: packages[key] for key in sorted(self.linked)}
        self.main = by_id[metadata["resolve"]["root"]]
        self.needs = {by_id[node["id"]]: self._needed(node, by_id) for node in metadata["resolve"]["nodes"]}

    def _needed(self, node, by_id):
        normal = {by_id[entry["pkg"]] for entry in node["deps"] if any(kind["kind"] is None for kind in entry["dep_kinds"])}
        return sorted(normal & self.linked)


def licence(package):
    return (package["license"] or "").replace("/", " OR ")


def c_library(target):
    """Name, version and licence; the version is known where the compiler is: $CC, or that of this machine."""
    if "-musl" in target:
        return "musl", None, "MIT"
    compiler = os.environ.get("CC") or ("cc" if target == rustc("host") else None)
    version = None
    if compiler:
        try:
            defined = output(*compiler.split(), "-E", "-dM", "-include", "features.h", "-x", "c", "/dev/null")
            numbers = dict(re.findall(r"^#define (__GLIBC(?:_MINOR)?__) (\d+)$", defined, re.M))
            version = f"{numbers['__GLIBC__']}.{numbers['__GLIBC_MINOR__']}"
        except (OSError, subprocess.CalledProcessError, KeyError):
            pass
    return "glibc", version, "LGPL-2.1-or-later"
