#!/bin/sh
# Installs the program and what belongs to it below $DESTDIR$PREFIX; BIN is the program, an empty PREFIX is /. THIRD_PARTY
# is a file with the licences of what is compiled into it, if there is one.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX-/usr/local}
prefix=${prefix%/}
root=${DESTDIR:-}$prefix
doc=$root/share/doc/topotop
# zsh reads a distribution's folder below /usr only.
case $prefix in /usr) zsh=$root/share/zsh/vendor-completions ;; *) zsh=$root/share/zsh/site-functions ;; esac
# What units start: a path with blanks in quotes, and for sed.
program=$prefix/bin/topotop
case $program in *[[:blank:]]*) program=\"$program\" ;; esac
program=$(printf '%s\n' "$program" | sed 's/[\\&#]/\\&/g')
put() { mode=$1 to=$2; shift 2; mkdir -p "$to"; install -m "$mode" "$@" "$to/"; }

put 755 "$root/bin" "$BIN"
mkdir -p "$root/share/man/man1" "$root/share/bash-completion/completions" "$zsh" \
    "$root/share/fish/vendor_completions.d" "$root/lib/systemd/system"
"$BIN" --lang en man | gzip -9n >"$root/share/man/man1/topotop.1.gz"
"$BIN" --lang en completions bash >"$root/share/bash-completion/completions/topotop"
"$BIN" --lang en completions zsh >"$zsh/_topotop"
"$BIN" --lang en completions fish >"$root/share/fish/vendor_completions.d/topotop.fish"
for unit in "$top"/dist/*.service "$top"/dist/*.socket; do
    [ -e "$unit" ] || continue
    sed "s#/usr/bin/topotop#$program#" "$unit" >"$root/lib/systemd/system/$(basename "$unit")"
done
put 644 "$doc" "$top/LICENSE-MIT" "$top/LICENSE-APACHE" "$top/README.md" "$top/CHANGELOG.md"
[ -z "${THIRD_PARTY:-}" ] || install -m 644 "$THIRD_PARTY" "$doc/THIRD-PARTY"
# Units and README refer to it.
put 644 "$doc/docs" "$top/docs/fleet.md" "$top/docs/many-recordings.md"
# Dashboards, alert rules and manifests: every folder of dist/ but the packages' own scripts.
(cd "$top/dist" && find . -mindepth 2 -type f ! -path './deb/*' | LC_ALL=C sort) | while IFS= read -r file; do
    put 644 "$root/share/topotop/$(dirname "$file" | sed 's#^\./##')" "$top/dist/$file"
done
chmod 644 "$root/lib/systemd/system/"topotop* "$root/share/man/man1/topotop.1.gz" "$zsh/_topotop" \
    "$root/share/bash-completion/completions/topotop" "$root/share/fish/vendor_completions.d/topotop.fish"
