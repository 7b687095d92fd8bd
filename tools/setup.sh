#!/bin/sh
# Makes .venv with everything needed to run (setup.sh run), to test (setup.sh test) or to
# take the pictures of the documentation (setup.sh screenshots), or installs the MariaDB
# server for tests (setup.sh mariadb).
# Does nothing when the requirement files have not changed since the last time.
set -eu
cd "$(dirname "$0")/.."
goal=${1:-run}

say() { printf '%s\n' "setup: $*"; }

find_python() {
    for name in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$name"
            return
        fi
    done
    say "Python 3.11 or newer is needed (set PYTHON=/path/to/python3)." >&2
    exit 1
}

# apt_install NEED PACKAGE...: as root on Debian install them, else say the one command.
apt_install() {
    need=$1
    shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $* ($need)"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } \
            >/dev/null 2>&1 || say "apt-get could not install $*"
    else
        say "$need: run 'apt-get install -y --no-install-recommends $*' as root"
    fi
}

if [ "$goal" = mariadb ]; then
    PATH=$PATH:/usr/sbin
    if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null; then
        apt_install "for tests on MariaDB" mariadb-server-core mariadb-client-core
    fi
    exit 0
fi

stamp_of() { cat tools/setup.sh "$@" | cksum; }

python=$(find_python)
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install "for virtual environments" python3-venv
fi
[ -x .venv/bin/pip ] || "$python" -m venv .venv

pip() { .venv/bin/pip --disable-pip-version-check --quiet "$@"; }

install_mysqlclient() {
    if .venv/bin/python -c 'import MySQLdb' 2>/dev/null; then return; fi
    if ! pkg-config --exists libmariadb mysqlclient 2>/dev/null \
        && ! pkg-config --exists libmariadb 2>/dev/null; then
        set -- gcc libc6-dev pkg-config libmariadb-dev
        # A Python of Debian's own needs its headers; others bring theirs.
        case $(.venv/bin/python -c 'import sys; print(sys.base_prefix)') in
            /usr) set -- "$@" python3-dev ;;
        esac
        apt_install "to compile mysqlclient" "$@"
    fi
    pip install "$(grep '^mysqlclient' requirements.txt)" >/dev/null 2>&1 \
        || say "mysqlclient did not compile: OceanBase/MySQL support is off, SQLite works."
}

run_stamp=$(stamp_of requirements.txt)
if [ "$(cat .venv/run.stamp 2>/dev/null || true)" != "$run_stamp" ]; then
    say "installing requirements.txt into .venv"
    grep -v '^mysqlclient' requirements.txt >.venv/requirements.txt
    pip install -r .venv/requirements.txt
    install_mysqlclient
    printf '%s' "$run_stamp" >.venv/run.stamp
fi
[ "$goal" != run ] || exit 0

if ! command -v chromium >/dev/null; then
    apt_install "for the browser tests" chromium
fi
if [ "$goal" = screenshots ] && [ -z "$(fc-list :lang=zh 2>/dev/null)" ]; then
    apt_install "for Chinese letters in pictures" fontconfig fonts-wqy-zenhei
fi

install_engine() {
    engine=$(grep '^pylibseekdb' requirements-dev.txt)
    .venv/bin/python -c 'import sys; from importlib.metadata import version
sys.exit("pylibseekdb==" + version("pylibseekdb") != sys.argv[1])' "$engine" 2>/dev/null \
        || pip install "$engine" 2>/dev/null \
        || say "$engine could not be installed: no OceanBase engine for the tests."
}

# What the tests need for OceanBase. Both are tried again each time they are missing,
# since without them half of the tests is left out.
install_mysqlclient
install_engine

test_stamp=$(stamp_of requirements.txt requirements-dev.txt requirements-peer.txt)
if [ "$(cat .venv/test.stamp 2>/dev/null || true)" != "$test_stamp" ]; then
    say "installing requirements-dev.txt into .venv and the public client into .venv-peer"
    grep -v '^pylibseekdb' requirements-dev.txt >.venv/requirements-dev.txt
    pip install -r .venv/requirements-dev.txt
    [ -x .venv-peer/bin/pip ] || "$python" -m venv .venv-peer
    .venv-peer/bin/pip --disable-pip-version-check --quiet install -r requirements-peer.txt
    printf '%s' "$test_stamp" >.venv/test.stamp
fi
