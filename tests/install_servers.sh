#!/bin/sh
# Install the servers that some tests need, where that can be done; say what was skipped. Doing it again does nothing.
set -eu

has_postgresql() {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

skip() {
    echo "PostgreSQL: skipped, $1; its tests will be skipped too, but in CI they fail" >&2
    exit 0
}

has_postgresql && exit 0
command -v apt-get >/dev/null || skip "there is no apt-get; install it by other means"
[ "$(id -u)" = 0 ] || skip "only root can install it: sudo sh $0"

echo "PostgreSQL: installing Debian's package (once) ..."
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null || skip "apt-get could not install it"
has_postgresql || skip "apt-get installed something else"
