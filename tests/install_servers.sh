#!/bin/sh
# Install the servers and the browser that some tests need, where that can be done; say what was skipped.
# Doing it again does nothing.
set -eu

has_postgresql() {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

has_browser() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
}

skip() {
    echo "$1: skipped, $2; its tests will be skipped too (those of PostgreSQL fail in CI)" >&2
}

# install NAME PACKAGE CHECK
install() {
    "$3" && return
    command -v apt-get >/dev/null || { skip "$1" "there is no apt-get; install it by other means"; return; }
    [ "$(id -u)" = 0 ] || { skip "$1" "only root can install it: sudo sh $0"; return; }
    echo "$1: installing Debian's package (once) ..."
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null; } || { skip "$1" "apt-get could not install it"; return; }
    "$3" || skip "$1" "apt-get installed something else"
}

install PostgreSQL postgresql has_postgresql
install Chromium chromium has_browser
