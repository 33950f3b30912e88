#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ./bootstrap says and does about packages, on systems made of stand-in commands:
# it must ask apt only for what is missing, and explain itself where it cannot go on.
# shellcheck disable=SC2016,SC2046 # the stand-ins expand their own arguments; words are split
set -eu

script=${SRCDIR:-.}/bootstrap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/bin"
cp "$script" "$work/src/bootstrap"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# Only these commands exist there; anything else would be the real machine's.
for tool in sh sed tr env uname dirname cat; do
  ln -s "$(command -v "$tool")" "$work/bin/$tool"
done
stub() { # NAME SCRIPT
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
run() { # ARGUMENT...
  status=0
  out=$(PATH="$work/bin" "$work/src/bootstrap" "$@" 2>&1) || status=$?
}
expect() { # STATUS TEXT
  [ "$status" -eq "$1" ] || fail "status $status, not $1: $out"
  case $out in
    *"$2"*) ;;
    *) fail "no '$2' in: $out" ;;
  esac
}

run
expect 2 './bootstrap demo'

# Not a Debian: the sentence says which packages to look for.
run deps
expect 1 'libcurl4-openssl-dev'
expect 1 'on another system install'

# Nothing is missing: apt is not even asked, so that it works without root and without a network.
stub apt-get "echo apt-get \"\$@\" >>'$work/apt'"
stub apt-cache 'case $2 in libcurl4-openssl-dev) ;; *) echo "Package: $2" ;; esac'
stub dpkg-query 'echo "ii "'
stub id 'echo 0'
run deps
expect 0 'all packages are installed'
[ ! -e "$work/apt" ] || fail "apt was asked: $(cat "$work/apt")"

# One is missing, and this release has only its alternative.
stub dpkg-query 'case $4 in libcurl4-openssl-dev | libcurl4-gnutls-dev) exit 1 ;; esac; echo "ii "'
run deps
expect 0 'installing: libcurl4-openssl-dev|libcurl4-gnutls-dev'
asked=$(cat "$work/apt")
case $asked in
  *'install -y -qq --no-install-recommends libcurl4-gnutls-dev'*) ;;
  *) fail "asked apt for: $asked" ;;
esac

# apt knows no alternative at all.
stub apt-cache 'exit 0'
run deps
expect 1 'apt knows no package libcurl4-openssl-dev|libcurl4-gnutls-dev'

# Neither root nor sudo.
stub apt-cache 'echo "Package: $2"'
stub id 'echo 1000'
run deps
expect 1 'needs root'

# apt itself fails.
stub id 'echo 0'
stub apt-get '[ "$1" = update ] || exit 100'
run deps
expect 1 'apt-get could not install: libcurl4-openssl-dev'

# What has to be green before a change goes in, and that it fits into the time there is.
ci=${SRCDIR:-.}/.ci/run
steps=$(bash "$ci" --list)
all_steps=$(bash "$ci" --all --list)
for wanted in check lint layering; do
  echo "$steps" | grep -q "^$wanted " || fail ".ci/run has no step $wanted: $steps"
done
for wanted in sanitize threads tidy distcheck; do
  echo "$all_steps" | grep -q "^$wanted " || fail ".ci/run --all has no step $wanted: $all_steps"
done
set -- $(echo "$steps" | sed -n 's/^together *\([0-9]*\) min, of \([0-9]*\) .*/\1 \2/p')
[ $# -eq 2 ] || fail ".ci/run --list does not sum up: $steps"
[ "$1" -lt "$2" ] || fail "the steps of .ci/run may take $1 min, of $2 that there are"

echo "all as it should be"
