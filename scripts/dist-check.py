#!/usr/bin/env python3
"""What `make dist` made, on machines that have nothing else: .deb and .rpm in a clean Debian, the tarball in two kernels.

dist-check.py [--only packages,guests]: as root, with debootstrap; the virtual machines are those of `make guest`.
"""

import argparse
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
DIST = TOP / "target/dist"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "topotop-guest"
# What package managers write themselves.
NOT_OURS = re.compile(r"^/(proc|sys|dev|run|tmp|var/(lib/(dpkg|apt)|cache|log)|root/\.rpmdb)(/|$)")
# rpm does not know who else uses these, and so the .rpm leaves them; dpkg counts, and the .deb must not.
SHARED = {"/usr/share/fish", "/usr/share/fish/vendor_completions.d", "/usr/share/zsh", "/usr/share/zsh/site-functions",
          "/usr/share/zsh/vendor-completions"}
UNITS = ["topotop-record.service", "topotop-serve.socket", "topotop-serve.service"]
ENABLED = "/etc/systemd/system"
# An emulated machine needs its time.
BOOT_S = 240
KERNELS = {"old": "6.1", "new": "6.12"}
NOBODY = "65534"
# The guest's own words, which nothing else prints.
DONE, FAILED, DEMO, QUIT = "guest: all done", "guest: failed", "guest: demo starts", "guest: demo ended"

INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /home
/bin/busybox mount -t proc proc /proc; /bin/busybox mount -t sysfs sys /sys; /bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
chmod 1777 /tmp; chmod 666 /dev/ttyS0
echo "guest: kernel $(uname -r)"
as() {{ user=$1; shift; TERM=xterm LANG=C.UTF-8 su -s /bin/sh $user -c "$*"; }}
run() {{ echo "guest: as $1: $2 $3 $4 $5"; as "$@" >/tmp/out 2>&1; status=$?; head -4 /tmp/out
    case $status in 0|1) ;; *) echo "{FAILED} with status $status: $*"; cat /tmp/out;; esac; rm -f /tmp/out; }}
for user in root nobody; do
    run $user /opt/bin/topotop --version
    run $user /opt/bin/topotop doctor
    run $user /opt/bin/topotop check --for 10s
    run $user /opt/bin/topotop snapshot --format json
done
stty rows 24 cols 80
echo "{DEMO}"
as nobody /opt/bin/topotop demo; echo; echo "{QUIT} with status $?"
echo "{DONE}"
poweroff -f
"""


def fail(why):
    sys.exit(f"topotop: {why}")


def one(pattern):
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        fail(f"{DIST} has {len(found)} files {pattern}: make dist")
    return found[0]


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, **how)
    if done.returncode:
        fail(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# --- packages in a clean Debian ------------------------------------------------------------------------------------

class Root:
    """A Debian with nothing but what every Debian has."""

    def __init__(self, work):
        self.path = work / "root"
        sources = run("apt-get", "indextargets", "--format", "$(REPO_URI)").splitlines()
        release = re.search(r"^VERSION_CODENAME=(\S+)", pathlib.Path("/etc/os-release").read_text(), re.M)
        run("debootstrap", "--variant=minbase", release[1] if release else "stable", self.path, *sources[:1])
        # Units can be enabled without a running systemd.
        self.run("apt-get", "install", "-y", "--no-install-recommends", "systemd")

    def files(self):
        """Files, folders and links, to folders and to nothing too: os.walk names those among folders or files."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            inside = folder.removeprefix(str(self.path)) or "/"
            paths = (os.path.join(inside, name) for name in [*folders, *files])
            found.update(path for path in paths if not NOT_OURS.match(path))
        return found

    def dangling(self):
        return set(self.run("find", ENABLED, "-xtype", "l").splitlines())

    def run(self, *words, user=None):
        new = ["unshare", "--mount", "--pid", "--fork", f"--root={self.path}", "--mount-proc=/proc"]
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp" if user else "HOME=/root"]
        other = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return run(*new, *clean, *other, *words)

    def check(self, package, install, remove, may_stay=frozenset()):
        shutil.copy(package, self.path / "tmp")
        before, dangling = self.files(), self.dangling()
        self.run(*install)
        installed = self.files()
        print(f"{package.name}: {len(installed - before)} files and folders installed, none of another package")
        self.run("systemctl", "enable", *UNITS)
        links = [path for path in self.files() - installed if path.startswith(ENABLED) and (self.path / path[1:]).is_symlink()]
        if {os.path.basename(link) for link in links} != set(UNITS):
            fail(f"{package.name}: enabled units have the links {links}")
        for user in (None, NOBODY):
            print(f"  as {user or 'root'}:", self.run("topotop", "--version", user=user).strip())
            self.run("topotop", "doctor", user=user)
            self.run("topotop", "snapshot", "--format", "json", user=user)
        self.run("sh", "-c", "topotop check --for 10s; case $? in 0|1) ;; *) exit 1;; esac")
        self.run(*remove)
        left = sorted((self.files() - before | self.dangling() - dangling) - may_stay)
        if left:
            fail(f"{package.name} left behind: {', '.join(left)}")
        print("  removed: nothing left, no unit enabled")


def check_packages(work):
    root = Root(work)
    deb, rpm = one("*.deb"), one("*.rpm")
    root.check(deb, ["apt-get", "install", "-y", f"/tmp/{deb.name}"], ["apt-get", "purge", "-y", "topotop"])
    # Its one dependency is a shell, which this database of packages does not know.
    root.run("apt-get", "install", "-y", "--no-install-recommends", "rpm")
    root.check(rpm, ["rpm", "-i", "--nodeps", f"/tmp/{rpm.name}"], ["rpm", "-e", "topotop"], SHARED)


# --- the tarball in virtual machines without any library --------------------------------------------------------------

def initramfs(image, work):
    root = work / "initramfs"
    (root / "bin").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\nnobody:x:{NOBODY}:{NOBODY}::/tmp:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\nnobody:x:{NOBODY}:\n")
    shutil.copy(image / "root/usr/bin/busybox", root / "bin/busybox")
    tarball = one("*.tar.gz")
    run("tar", "-xzf", tarball, "-C", root)
    (root / tarball.name.removesuffix(".tar.gz")).rename(root / "opt")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    libraries = [*root.rglob("*.so"), *root.rglob("*.so.*")]
    if libraries:
        fail(f"the guest has libraries: {libraries}")
    files = subprocess.run(["find", "."], cwd=root, stdout=subprocess.PIPE, check=True).stdout
    packed = subprocess.run([root / "bin/busybox", "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=root, input=files,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    (work / "initramfs.cpio").write_bytes(packed)
    return work / "initramfs.cpio"


def check_guest(image, label, initrd):
    # Emulated: works wherever this does, and is fast enough.
    accel = ["-accel", "tcg", "-cpu", "max,la57=off"]
    words = [image / "qemu", *accel, "-m", "1024", "-smp", "2", "-nographic", "-no-reboot", "-net", "none",
             "-kernel", image / f"vmlinuz-{label}", "-initrd", initrd,
             "-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on"]
    ours, theirs = pty.openpty()
    guest = subprocess.Popen([str(word) for word in words], stdin=theirs, stdout=theirs, stderr=subprocess.STDOUT)
    os.close(theirs)
    said, end, quits = "", time.monotonic() + BOOT_S, None
    while DONE not in said and time.monotonic() < end and guest.poll() is None:
        try:
            if select.select([ours], [], [], 0.2)[0]:
                said += os.read(ours, 65536).decode(errors="replace")
        except OSError:
            break  # it has ended
        drawn = said.partition(DEMO)[2]
        if quits is None and "topotop" in drawn and "limit" in drawn:
            quits = time.monotonic() + 3
        if quits and time.monotonic() > quits:
            os.write(ours, b"q")
            quits = time.monotonic() + 3
    guest.kill()
    guest.wait()
    os.close(ours)
    kernel = re.search(r"guest: kernel (\S+)", said)
    if not (kernel and kernel[1].startswith(KERNELS[label] + ".") and DONE in said and FAILED not in said
            and f"{QUIT} with status 0" in said and quits):
        fail(f"the tarball in a guest of Linux {KERNELS[label]}:\n{said[-6000:]}")
    print(f"{one('*.tar.gz').name}: in Linux {kernel[1]} without any library")
    for line in re.findall(r"guest: as [^\r\n]*", said):
        print("  " + line.removeprefix("guest: "))
    print(f"  as nobody: demo drawn at 80x24 ({len(said.partition(DEMO)[2])} bytes), left by q")


def check_guests(work):
    image = pathlib.Path(run("bash", TOP / "tests/guest/image.sh", CACHE).strip().splitlines()[-1])
    initrd = initramfs(image, work)
    for label in KERNELS:
        check_guest(image, label, initrd)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="packages,guests")
    chosen = parser.parse_args().only.split(",")
    with tempfile.TemporaryDirectory(prefix="topotop-packages") as work:
        if "packages" in chosen:
            check_packages(pathlib.Path(work))
        if "guests" in chosen:
            check_guests(pathlib.Path(work))


main()
