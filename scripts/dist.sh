#!/bin/bash
# dist.sh static|all: a binary without libraries; with `all` also packages, tarball, list of components and checksums.
# The same commit, toolchain and C compiler give the same bytes wherever the tree is.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD
host=$(rustc -vV | sed -n 's/^host: //p')
target=${TARGET:-$host}
fail() { echo "topotop: not packaged: $*" >&2; exit 2; }

# --- the binary -----------------------------------------------------------------------------------------------------
libs=$(rustc --print target-libdir --target "$target" 2>/dev/null) || fail "unknown rustc target $target"
[ -d "$libs" ] || fail "the standard library of $target is missing: rustup target add $target"
case $target in
"$host") cc=${CC:-cc} get="install gcc" ;;
"${host%-gnu}-musl") cc=${CC:-musl-gcc} get="install musl-tools" ;;
# musl-gcc is for this machine's architecture only.
aarch64-*-musl) cc=${CC:-aarch64-linux-musl-gcc} get="Debian has no package of it; set CC to that of another toolchain" ;;
aarch64-*) cc=${CC:-aarch64-linux-gnu-gcc} get="install gcc-aarch64-linux-gnu" ;;
*) fail "use TARGET=$host, ${host%-gnu}-musl, aarch64-unknown-linux-gnu or aarch64-unknown-linux-musl" ;;
esac
command -v "$cc" >/dev/null || fail "$cc is missing, the C compiler and linker for $target: $get"
if [ "$target" != "$host" ]; then
    export "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")_LINKER=$cc" "CC_${target//-/_}=$cc"
fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
# Paths of this machine would be in the binary's messages.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$top=/topotop --remap-path-prefix=$cargo_home=/cargo"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$top=/topotop"
build=${CARGO_TARGET_DIR:-$top/target}
cargo build --release --locked --no-default-features --target "$target"
bin=$build/$target/release/topotop
if readelf -d "$bin" 2>/dev/null | grep -q NEEDED; then fail "$bin needs libraries"; fi
echo "$bin"
[ "${1:-}" = all ] || exit 0

# --- everything else ------------------------------------------------------------------------------------------------
PATH=$top/target/tools/bin:$PATH
for tool in cargo-deb cargo-generate-rpm; do command -v $tool >/dev/null || fail "$tool is missing: make dist-tools"; done
version=$(cargo pkgid | sed 's/.*[#@]//')
out=$top/target/dist
name=topotop-$version-$target
rm -rf "$out"; mkdir -p "$out/root"
# The program writes its own manual and completions.
"$bin" --version >/dev/null 2>&1 || fail "$bin does not run here, but must run to write its manual and completions: for another" \
    "architecture install qemu-user-static, or use \`make static\`, which needs none"
CC=$cc python3 scripts/sbom.py "$target" >"$out/$name.cdx.json"
CC=$cc python3 scripts/third-party.py "$target" >"$out/THIRD-PARTY"
export THIRD_PARTY=$out/THIRD-PARTY
BIN=$bin PREFIX=/usr DESTDIR=$out/root ./scripts/install.sh
find "$out/root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

BIN=$bin PREFIX=/$name DESTDIR=$out/tar ./scripts/install.sh
# Units in a tarball are for /usr/local.
sed -i "s#/$name/bin/topotop#/usr/local/bin/topotop#" "$out/tar/$name/lib/systemd/system/"*
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$out/tar" -c "$name" |
    gzip -9n >"$out/$name.tar.gz"
# Packages take the tree above; cargo-deb would look for it in CARGO_TARGET_DIR.
env -u CARGO_TARGET_DIR cargo deb --no-build --no-strip --target "$target" --output "$out/" >/dev/null
# Older rpm cannot unpack zstd.
env -u CARGO_TARGET_DIR cargo generate-rpm --payload-compress xz --target "$target" --output "$out/" --source-date "$SOURCE_DATE_EPOCH" >/dev/null
rm -rf "$out/tar" "$THIRD_PARTY"
(cd "$out" && sha256sum -- *.deb *.rpm *.tar.gz *.json >SHA256SUMS && cat SHA256SUMS)
