#!/usr/bin/env python3
"""Checks licences and sources of every crate against deny.toml if cargo-deny is missing, but not known vulnerabilities."""
import json, re, subprocess, sys, tomllib

deny = tomllib.load(open("deny.toml", "rb"))
allowed = set(deny["licenses"]["allow"])


def said(*words):
    return subprocess.run(["cargo", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


# The lock also has crates of features that nobody turns on.
tree = said("tree", "--locked", "--workspace", "--target", "all", "--prefix", "none", "--format", "{p}")
used = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
packages = json.loads(said("metadata", "--locked", "--format-version", "1"))["packages"]
packages = [package for package in packages if (package["name"], "v" + package["version"]) in used]


def is_allowed(expression):
    """An SPDX expression; some crates still write a slash for OR."""
    words = re.findall(r"[()]|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?", expression.replace("/", " OR "))
    python = {"(": "(", ")": ")", "OR": "or", "AND": "and"}
    return bool(words) and eval(" ".join(python.get(word) or str(word in allowed) for word in words))


wrong = []
for package in packages:
    name = f"{package['name']} {package['version']}"
    if not is_allowed(package["license"] or ""):
        wrong.append(f"{name}: licence {package['license']}")
    if package["source"] not in (None, "registry+https://github.com/rust-lang/crates.io-index"):
        wrong.append(f"{name}: source {package['source']}")
print("\n".join(wrong) or f"licences and sources of {len(packages)} crates are allowed by deny.toml")
sys.exit(1 if wrong else 0)
