#!/bin/sh
# Installs Debian packages where that is possible; where it is not, says in one line what to install.
set -u
if ! command -v apt-get >/dev/null; then
    echo "topotop: apt-get not found: install these packages by hand (Debian names): $*" >&2
    exit 0
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "topotop: neither root nor sudo: ask an administrator to install: $*" >&2
        exit 0
    fi
    sudo="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
if $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; then
    exit 0
fi
# A fresh machine has no package lists yet.
if $sudo apt-get update -qq >/dev/null && $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
    exit 0
fi
echo "topotop: could not install: $*" >&2
exit 0
