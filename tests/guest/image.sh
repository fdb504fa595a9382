#!/bin/bash
# Fetches and builds what the guests are made of, once: QEMU, two kernels, a root disk. Prints the folder they are in.
#
#   image.sh CACHE
#
# Only apt-get's own download is used, from the mirror that this machine uses; nothing is installed, no maintainer
# script runs, and root is not needed. The last line on standard error says why where it cannot be done.
set -euo pipefail
umask 022
fail() { echo "$*" >&2; exit 3; }

here=$(cd "$(dirname "$0")" && pwd)
for tool in apt-get dpkg-deb flock sha256sum gzip xz; do command -v $tool >/dev/null || fail "$tool is missing"; done
[ "$(uname -m)" = x86_64 ] || fail "the guests are x86_64, this machine is $(uname -m)"
. /etc/os-release
[ "$ID" = debian ] || fail "the guests are made of Debian's packages, and this is $ID"
release=$VERSION_CODENAME

mkdir -p "$1"; cd "$1"
exec 9>lock; flock 9
out=$PWD/$(cat "$here"/{image.sh,init,initrd} /etc/debian_version | sha256sum | cut -c1-16)
if [ -e "$out/ready" ]; then touch "$out/ready"; echo "$out"; exit; fi
# What nobody used for two weeks is of an older version.
find . -mindepth 2 -maxdepth 2 -name ready -mtime +14 -printf '%h\n' | while read -r old; do rm -rf "$old"; done
find debs -name '*.deb' -mtime +60 -delete 2>/dev/null || true
rm -rf "$out"; mkdir -p debs/partial "$out"/apt/{lists,none}/partial

# --- packages -------------------------------------------------------------------------------------------------------
# From where this machine gets a suite: known without package lists too.
mirror() {
    apt-get -o Debug::NoLocking=1 --print-uris update 2>/dev/null |
        sed -n "s#^'\([^']*\)/dists/\([^/' ]*\)/InRelease'.*#\1 \2#p" | awk -v wanted="$1" '$2 ~ "^(" wanted ")$" && !found++ { print $1 }'
}
main=$(mirror "$release|stable"); security=$(mirror "$release-security|stable-security")
[ -n "$main" ] || fail "apt knows no mirror of $release"
sources() { for suite; do echo "deb $main $suite main"; done; [ -z "$security" ] || echo "deb $security $release-security main"; }
options=(-o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$out/apt/lists"
    -o Dir::State::status="$out/apt/status" -o Dir::Cache="$out/apt" -o Dir::Cache::archives="$out/apt/none"
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o APT::Sandbox::User= -o Debug::NoLocking=1
    -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Update::Post-Invoke::= -o DPkg::Post-Invoke::=)
: > "$out/apt/status"
backports=(-t "$release-backports")
sources "$release" "$release-backports" > "$out/apt/sources.list"
if ! apt-get "${options[@]}" update -qq -o APT::Update::Error-Mode=any >"$out/apt/log" 2>&1; then
    backports=()
    sources "$release" > "$out/apt/sources.list"
    apt-get "${options[@]}" update -qq -o APT::Update::Error-Mode=any >"$out/apt/log" 2>&1 || fail "apt-get update: $(tail -1 "$out/apt/log")"
fi

# What maintainer scripts alone want.
useless='^(perl.*|libperl.*|lib.*-perl|usrmerge|debconf|adduser|passwd|libsemanage.*|libsepol.*|insserv|runit-helper|gcc-12-base|libpam-.*|libcap2-bin|install-info|ucf|sensible-utils|systemd-.*|dmsetup|media-types)$'
# The files of packages and of all they need.
closure() {
    apt-get "${options[@]}" -y --no-install-recommends --print-uris install "$@" 2>"$out/apt/log" |
        sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p" | while read -r file; do [[ ${file%%_*} =~ $useless ]] || echo "$file"; done
    [ "${PIPESTATUS[0]}" = 0 ] || fail "apt-get: $(tail -1 "$out/apt/log")"
}
# Downloads what of the list on standard input is not there yet.
fetch() {
    local file version wanted=()
    while read -r file; do
        [ -s "debs/$file" ] && continue
        version=${file#*_}; version=${version%_*}
        wanted+=("${file%%_*}=${version//%3a/:}")
    done
    [ ${#wanted[@]} = 0 ] || (cd debs && apt-get "${options[@]}" -qq download "${wanted[@]}" >"$out/apt/log" 2>&1) ||
        fail "apt-get download: $(tail -1 "$out/apt/log")"
}
# Unpacks a list into a folder that has the directories of a merged /usr.
unpack() {
    local root=$1 file name
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do ln -sfn usr/$name "$root/$name"; done
    while read -r file; do
        dpkg-deb --fsys-tarfile "debs/$file" | tar -x --keep-directory-symlink --no-same-owner -C "$root" \
            --exclude=./usr/share/{doc,man,info,locale,bash-completion,lintian}
    done
}

# --- QEMU: version 10 of backports, whose igb has queues; else the release's -------------------------------------------
closure "${backports[@]}" qemu-system-x86 | grep -v '^libc6_' > "$out/apt/qemu"
fetch < "$out/apt/qemu"
unpack "$out/host" < "$out/apt/qemu"
cat > "$out/qemu" <<E
#!/bin/sh
lib=$out/host/usr/lib/x86_64-linux-gnu share=$out/host/usr/share
export LD_LIBRARY_PATH="\$lib" QEMU_MODULE_DIR="\$lib/qemu"
exec $out/host/usr/bin/qemu-system-x86_64 -L "\$share/qemu" -L "\$share/seabios" -L $out/host/usr/lib/ipxe/qemu "\$@"
E

# --- what runs in the guests ------------------------------------------------------------------------------------------
closure busybox-static bash coreutils grep sed mawk dash tar kmod ethtool irqbalance numactl iproute2 procps util-linux \
    bsdutils mount findutils e2fsprogs cpio erlang-base libhwloc15 libudev1 libgcc-s1 systemd \
    init-system-helpers sysvinit-utils dpkg openrc > "$out/apt/guest"
fetch < "$out/apt/guest"
root=$out/root
unpack "$root" < "$out/apt/guest"
mkdir -p "$root"/{proc,sys,dev,run,tmp,root,test,data,slow,etc,var/lib,var/tmp}
ln -sf mawk "$root/usr/bin/awk"; ln -sf bash "$root/usr/bin/sh"; ln -sf /proc/mounts "$root/etc/mtab"
echo 'root:x:0:0:root:/root:/bin/bash' > "$root/etc/passwd"; echo 'root:x:0:' > "$root/etc/group"
echo '127.0.0.1 localhost guest' > "$root/etc/hosts"; echo guest > "$root/etc/hostname"
install -m755 "$here/init" "$root/usr/sbin/guest-init"
# The machine whose first process is systemd: its only own service is what the others have as their first process.
units=$root/usr/lib/systemd/system
: > "$root/etc/machine-id"
printf '[Unit]\nRequires=basic.target guest.service\nAfter=basic.target\nAllowIsolate=yes\n' > "$units/guest.target"
printf '[Unit]\nAfter=basic.target\n[Service]\nExecStart=/usr/sbin/guest-init\nOOMPolicy=continue\n' > "$units/guest.service"
# Programs of the guest that are used on this side too, with the guest's own libraries.
loader="$root/lib64/ld-linux-x86-64.so.2 --library-path $root/usr/lib/x86_64-linux-gnu"
depmod() { $loader --argv0 depmod "$root/usr/bin/kmod" "$@"; }
cpio() { $loader "$root/usr/bin/cpio" "$@"; }
cat > "$out/mke2fs" <<E
#!/bin/sh
exec $loader $root/usr/sbin/mke2fs "\$@"
E
chmod 755 "$out/qemu" "$out/mke2fs"

# --- kernels: the module files that the guests load, unpacked ----------------------------------------------------------
first="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk crc16 crc32c_generic libcrc32c
    crc32c-intel mbcache jbd2 ext4"
more="failover net_failover virtio_net virtio_console dca i2c-core i2c-algo-bit ptp pps_core igb veth tun dummy dm-mod
    dm-delay dax loop bfq sch_ingress cls_u32"
# The package that the first known of some names stands for.
newest() {
    local name found
    for name; do
        found=$(apt-cache "${options[@]}" depends "$name" 2>/dev/null | awk '/Depends: linux-image-[0-9]/ && !found++ { print $2 }')
        if [ -n "$found" ]; then echo "$found"; return; fi
    done
}
kernel() {
    local label=$1 package version modules from module file; shift
    package=$(newest "$@"); [ -n "$package" ] || fail "apt knows no kernel of $*"
    version=${package#linux-image-} from=$out/apt/$package modules=$root/usr/lib/modules/${package#linux-image-}
    closure "$package" | grep "^${package}_" > "$out/apt/$label"
    fetch < "$out/apt/$label"
    dpkg-deb -x "debs/$(cat "$out/apt/$label")" "$from"
    cp "$from/boot/vmlinuz-$version" "$out/vmlinuz-$label"
    mkdir -p "$modules/kernel" "$out/initrd"/{bin,proc,dev,new,modules}
    for module in $first $more; do
        file=$(find "$from" -name "$module.ko*" | head -1)
        case $file in
        '') ;;
        *.xz) xz -dc "$file" > "$modules/kernel/$module.ko" ;;
        *) cp "$file" "$modules/kernel/" ;;
        esac
    done
    find "$from" \( -name 'modules.builtin*' -o -name modules.order \) -exec cp {} "$modules/" \;
    depmod -b "$root" "$version"
    # The initramfs: what is needed to mount the root disk.
    rm -f "$out"/initrd/modules/*
    cp "$root/usr/bin/busybox" "$out/initrd/bin/"
    install -m755 "$here/initrd" "$out/initrd/init"
    for module in $first; do
        [ -f "$modules/kernel/$module.ko" ] || continue
        cp "$modules/kernel/$module.ko" "$out/initrd/modules/"
        echo "$module" >> "$out/initrd/modules/order"
    done
    (cd "$out/initrd" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 > "$out/initrd-$label"
    rm -rf "$from"
}
kernel new linux-image-6.12-cloud-amd64 linux-image-cloud-amd64
kernel old linux-image-amd64

# --- the root disk: never written to, so that it serves any number of guests -------------------------------------------
"$out/mke2fs" -q -t ext4 -O ^has_journal -E root_owner=0:0,lazy_itable_init=1 -m0 -d "$root" "$out/root.ext4" \
    $(($(du -sm "$root" | cut -f1) + 96))M >&2
rm -rf "$out"/{apt,initrd}
touch "$out/ready"
echo "$out"
