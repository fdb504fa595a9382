#!/bin/sh
# Installs missing programs of the tests: `test-tools.sh PROGRAM=PACKAGE …`. What is missing afterwards is an error in CI,
# where no test may pass by not running.
set -u
here=$(dirname "$0")
PATH=$PATH:/usr/sbin:/sbin
missing() {
    for pair; do
        command -v "${pair%%=*}" >/dev/null || echo "${pair#*=}"
    done | sort -u
}
packages=$(missing "$@")
[ -z "$packages" ] && exit 0
# shellcheck disable=SC2086 # one word for each package
"$here/packages.sh" $packages
packages=$(missing "$@" | tr '\n' ' ')
[ -z "$packages" ] && exit 0
echo "topotop: the tests need these packages (Debian names): $packages" >&2
[ "${CI:-}" != true ]
