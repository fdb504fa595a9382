#!/usr/bin/env python3
"""Lists what is compiled into the program as a CycloneDX document: sbom.py TARGET."""

import json
import os
import subprocess
import sys
from datetime import datetime, timezone

target = sys.argv[1]


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], check=True, capture_output=True, text=True).stdout


# What is linked in, without what only builds or tests.
linked = cargo("tree", "--no-default-features", "--target", target, "--edges", "normal", "--prefix", "none", "--format", "{p}")
linked = {tuple(line.split()[:2]) for line in linked.splitlines() if line}
metadata = json.loads(cargo("metadata", "--format-version", "1", "--no-default-features", "--filter-platform", target))
packages = {(package["name"], "v" + package["version"]): package for package in metadata["packages"]}
checksums = {}
with open("Cargo.lock", encoding="utf-8") as lock:
    for block in lock.read().split("[[package]]")[1:]:
        fields = dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line)
        checksums[fields["name"].strip('"'), "v" + fields["version"].strip('"')] = fields.get("checksum", "").strip('"')


def component(key):
    package = packages[key]
    name, version = package["name"], package["version"]
    own = package["source"] is None
    entry = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version}
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if not own:
        entry["purl"] = f"pkg:cargo/{name}@{version}"
        entry["hashes"] = [{"alg": "SHA-256", "content": checksums[key]}]
    return entry


main = next(key for key in linked if key[0] == "topotop")
built = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {
        "timestamp": built.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "component": {**component(main), "type": "application"},
        "properties": [
            {"name": "target", "value": target},
            {"name": "rustc", "value": subprocess.run(["rustc", "-V"], check=True, capture_output=True, text=True).stdout.strip()},
        ],
    },
    "components": [component(key) for key in sorted(linked - {main})],
}
json.dump(document, sys.stdout, indent=1, sort_keys=True)
print()
