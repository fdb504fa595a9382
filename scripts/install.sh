#!/bin/sh
# Installs the program and what belongs to it below $DESTDIR$PREFIX; BIN is the program.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
doc=$root/share/doc/topotop
put() { mode=$1 to=$2; shift 2; mkdir -p "$to"; install -m "$mode" "$@" "$to/"; }

put 755 "$root/bin" "$BIN"
mkdir -p "$root/share/man/man1" "$root/share/bash-completion/completions" "$root/share/zsh/vendor-completions" \
    "$root/share/fish/vendor_completions.d" "$root/lib/systemd/system"
"$BIN" --lang en man | gzip -9n >"$root/share/man/man1/topotop.1.gz"
"$BIN" --lang en completions bash >"$root/share/bash-completion/completions/topotop"
"$BIN" --lang en completions zsh >"$root/share/zsh/vendor-completions/_topotop"
"$BIN" --lang en completions fish >"$root/share/fish/vendor_completions.d/topotop.fish"
for unit in "$top"/dist/*.service "$top"/dist/*.socket; do
    [ -e "$unit" ] || continue
    sed "s#/usr/bin/topotop#$prefix/bin/topotop#" "$unit" >"$root/lib/systemd/system/$(basename "$unit")"
done
put 644 "$doc" "$top/LICENSE-MIT" "$top/LICENSE-APACHE" "$top/README.md" "$top/CHANGELOG.md"
# Units and README refer to it.
put 644 "$doc/docs" "$top/docs/fleet.md" "$top/docs/many-recordings.md"
# Dashboards, alert rules and manifests: every folder of dist/ but the packages' own scripts.
(cd "$top/dist" && find . -mindepth 2 -type f ! -path './deb/*' | LC_ALL=C sort) | while IFS= read -r file; do
    put 644 "$root/share/topotop/$(dirname "$file" | sed 's#^\./##')" "$top/dist/$file"
done
chmod 644 "$root/lib/systemd/system/"topotop* "$root/share/man/man1/topotop.1.gz" "$root/share/zsh/vendor-completions/_topotop" \
    "$root/share/bash-completion/completions/topotop" "$root/share/fish/vendor_completions.d/topotop.fish"
