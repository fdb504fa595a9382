#!/usr/bin/env python3
"""Writes the licences of what is compiled into the program: third-party.py TARGET."""

import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from crates import TOP, Crates, c_library, licence, rustc  # noqa: E402

LICENCE = re.compile(r"(licen[cs]e|copying|unlicen[cs]e|notice|copyright)s?([-_.].*)?", re.I)
CODE = {".rs", ".py", ".c", ".h", ".sh", ".json"}
# zstd is under either of two licences; topotop takes the other one, BSD.
NOT_TAKEN = {("zstd-sys", "zstd/COPYING")}
LINE = "-" * 80

target = sys.argv[1]
crates = Crates(target)
own = {key for key, package in crates.packages.items() if package["source"] is None}


def texts_of(package):
    """Texts of the licence files in a crate's folder; C sources in it bring their own."""
    folder = pathlib.Path(package["manifest_path"]).parent
    found = {folder / package["license_file"]} if package["license_file"] else set()
    for place, _, names in os.walk(folder):
        paths = (pathlib.Path(place, name) for name in names if LICENCE.fullmatch(name))
        found |= {path for path in paths if path.suffix not in CODE}
    names = sorted(path.relative_to(folder).as_posix() for path in found if path.is_file())
    taken = [folder / name for name in names if (package["name"], name) not in NOT_TAKEN]
    return [path.read_text(encoding="utf-8", errors="replace") for path in taken]


class Texts:
    """Each text once, whatever its blanks and line ends."""

    def __init__(self):
        self.all = {}

    def number(self, text):
        shown = "\n".join(line.rstrip() for line in text.strip("\r\n").splitlines())
        return self.all.setdefault(" ".join(text.split()), (len(self.all) + 1, shown))[0]


texts = Texts()
mine = crates.packages[crates.main]
libc, libc_version, libc_licence = c_library(target)
print(f"""What is compiled into topotop {mine['version']} for {target}, and its licences

topotop itself is under MIT OR Apache-2.0: LICENSE-MIT and LICENSE-APACHE are next to this file. Its sources, and the
scripts that build and link it, are at {mine['repository']}.

Rust's standard library {rustc('release')} | MIT OR Apache-2.0 | https://github.com/rust-lang/rust
    Copyright (c) The Rust Project contributors. Rust's distribution lists its parts in COPYRIGHT-library.html.""")
if libc == "glibc":
    number = texts.number((TOP / "scripts/LGPL-2.1").read_text(encoding="utf-8"))
    print(f"""
The GNU C library{f' {libc_version}' if libc_version else ''} | {libc_licence} | https://www.gnu.org/software/libc/ | text {number}
    The static binary contains parts of it, and of GCC's libgcc, whose runtime library exception allows that without a
    condition. The sources of the GNU C library are those of the distribution that the binary was built on. To link topotop
    with another version of it, build it from its public sources: `make static`.""")
else:
    print(f"""
musl | {libc_licence} | https://musl.libc.org
    Copyright (c) 2005-2020 Rich Felker, et al. The static binary contains parts of it. Its licence has the words of
    LICENSE-MIT.""")
print("\nCrates: name and version | licence | repository | texts below\n")
for key, package in crates.packages.items():
    if key in own:
        continue
    found = texts_of(package)
    if not found or not licence(package):
        sys.exit(f"topotop: {' '.join(key)} has no licence, or no text of it, in {package['manifest_path']}")
    numbers = ", ".join(str(number) for number in sorted({texts.number(text) for text in found}))
    print(f"{' '.join(key)} | {licence(package)} | {package['repository'] or '-'} | {numbers}")
for number, text in texts.all.values():
    print(f"\n{LINE}\nText {number}\n{LINE}\n\n{text}")
