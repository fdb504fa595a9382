#!/usr/bin/env python3
"""Lists what is compiled into the program as a CycloneDX document: sbom.py TARGET."""

import hashlib
import json
import os
import sys
import uuid
from datetime import datetime, timezone

sys.dont_write_bytecode = True
from crates import TOP, Crates, c_library, licence, output, rustc  # noqa: E402

target = sys.argv[1]
crates = Crates(target)
lock = (TOP / "Cargo.lock").read_text(encoding="utf-8")
checksums = {}
for block in lock.split("[[package]]")[1:]:
    fields = dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line)
    checksums[fields["name"].strip('"'), fields["version"].strip('"')] = fields.get("checksum", "").strip('"')


def reference(key):
    return "@".join(part for part in key if part)


def component(key):
    package = crates.packages[key]
    name, version = key
    entry = {"type": "library", "bom-ref": reference(key), "name": name, "version": version}
    if licence(package):
        entry["licenses"] = [{"expression": licence(package)}]
    if package["source"] is not None:
        entry["purl"] = f"pkg:cargo/{name}@{version}"
        entry["hashes"] = [{"alg": "SHA-256", "content": checksums[key]}]
    return entry


def library(key, expression, purl):
    entry = {"type": "library", "bom-ref": reference(key), "name": key[0], "purl": purl, "licenses": [{"expression": expression}]}
    return {**entry, "version": key[1]} if key[1] else entry


libc, libc_version, libc_licence = c_library(target)
libc = libc, libc_version
std = "rust-std", rustc("release")
libraries = [
    library(std, "MIT OR Apache-2.0", f"pkg:github/rust-lang/rust@{std[1]}"),
    library(libc, libc_licence, f"pkg:generic/{reference(libc)}"),
]
# Every crate uses the standard library; one edge from the program says so.
needs = {key: list(crates.needs[key]) for key in crates.packages}
needs[crates.main].append(std)
needs |= {std: [libc], libc: []}
# The same sources and target have the same number.
identity = [*crates.main, target, hashlib.sha256(lock.encode()).hexdigest()]
built = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, " ".join(identity)).urn,
    "version": 1,
    "metadata": {
        "timestamp": built.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "component": {**component(crates.main), "type": "application"},
        "properties": [
            {"name": "target", "value": target},
            {"name": "rustc", "value": output("rustc", "-V").strip()},
        ],
    },
    "components": [*(component(key) for key in crates.packages if key != crates.main), *libraries],
    "dependencies": [
        {"ref": reference(key), "dependsOn": sorted(map(reference, needs[key]))} for key in sorted(needs, key=reference)
    ],
}
json.dump(document, sys.stdout, indent=1, sort_keys=True)
print()
