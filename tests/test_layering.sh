#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may include whom, and who owns which library. A folder may always include
# itself; a library's header may appear only where its line says.
set -euf # -f: patterns are for case, not for files
cd "${SRCDIR:-.}"

common="common/base common/wire common/model common/engine common/engine/extract"

# The folders that a folder may include, "x/*" for all below x; "!" for a folder that has no line yet.
# The engine's inner folders are its own: others see its front and how it reads lines (extract).
allowed() {
  case $1 in
    common/base) echo "" ;;
    common/wire) echo "" ;;
    common/model) echo "common/base common/wire" ;;
    common/engine | common/engine/*) echo "common/base common/wire common/model common/engine common/engine/*" ;;
    spank) echo "common/wire" ;;
    epilog/handoff) echo "common/wire" ;;
    epilog | epilog/eca | epilog/log | epilog/metric | epilog/auth | epilog/output | epilog/queue)
      echo "$common epilog epilog/eca epilog/log epilog/metric epilog/auth epilog/output epilog/queue" ;;
    service) echo "$common" ;;
    service/web) echo "$common service" ;;
    tests | tests/*) echo "*" ;;
    *) echo "!" ;;
  esac
}

# Where a library's header may appear, as prefixes of paths; "*" for everywhere.
owner() {
  case $1 in
    json-c/*) echo "common/base/json." ;;
    sqlite3.h) echo "common/base/sqlite." ;;
    toml++/*) echo "common/base/toml." ;;
    ini.h | INIReader.h) echo "common/base/ini." ;;
    spdlog/*) echo "common/base/log." ;;
    pcre2.h) echo "common/base/regex." ;;
    isa-l.h | isa-l/* | zstd.h | zlib.h) echo "common/base/decode. common/base/encode." ;;
    systemd/*) echo "epilog/log/journal_library." ;;
    curl/*) echo "common/base/http." ;;
    CLI/*) echo "epilog/ service/" ;;
    microhttpd.h) echo "service/httpd." ;;
    gnutls/*) echo "service/tls. service/digest." ;;
    rapidjson/*) echo "common/base/json_sax. service/json_tape." ;;
    sha2.h | md5.h | sha.h) echo "common/base/digest." ;;
    sys/capability.h) echo "epilog/log/user_rights." ;;
    slurm/spank.h) echo "spank/" ;;
    slurm/*) echo "!" ;;
    iostream | regex) echo "!" ;;
    cmocka.h) echo "!" ;;
    *) echo "*" ;;
  esac
}

bad=0
complain() {
  echo "$*"
  bad=1
}

is_owner() { # FILE PREFIX...
  file=$1
  shift
  for prefix in "$@"; do
    case $file in "$prefix"*) return 0 ;; esac
  done
  return 1
}

may_include() { # FOLDER PATTERN...
  to=$1
  shift
  for pattern in "$@"; do
    # shellcheck disable=SC2254 # a pattern it is
    case $to in $pattern) return 0 ;; esac
  done
  return 1
}

check_ours() { # FILE FOLDER ALLOWED
  for included in $(sed -n 's|^ *# *include "\(.*\)/[^/]*"$|\1|p' "$1" | sort -u); do
    # shellcheck disable=SC2086 # a list of patterns
    may_include "$included" $2 $3 ||
      complain "$1 includes $included, but $2 may include only: ${3:-itself}"
  done
  for to in $(sed -n 's|^ *# *include "\([^/]*\)"$|\1|p' "$1"); do
    complain "$1 includes \"$to\"; write the path from the root"
  done
}

check_theirs() { # FILE
  for header in $(sed -n 's|^ *# *include <\(.*\)>$|\1|p' "$1"); do
    where=$(owner "$header")
    [ "$where" != "*" ] || continue
    # shellcheck disable=SC2086 # a list of prefixes
    is_owner "$1" $where || complain "$1 includes <$header>, which belongs to: $where"
  done
}

check_tree() { # the tree in the current folder
  bad=0
  for file in $(find common spank epilog service tests \
    -name '*.cc' -o -name '*.hh' -o -name '*.c' -o -name '*.h' 2>/dev/null | sort); do
    from=$(dirname "$file")
    may=$(allowed "$from")
    if [ "$may" = "!" ]; then
      complain "$from has no line in tests/test_layering.sh"
      continue
    fi
    [ "$may" != "*" ] || continue
    check_ours "$file" "$from" "$may"
    check_theirs "$file"
  done
  return $bad
}

check_tree || exit 1

# The check itself must be able to refuse: each planted file breaks one rule.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cd "$planted"
refuses() { # FILE LINE COMPLAINT
  mkdir -p "$(dirname "$1")"
  echo "$2" >"$1"
  if said=$(check_tree); then
    echo "not refused: $1 with $2"
    exit 1
  fi
  case $said in
    *"$3"*) ;;
    *)
      echo "refused $1 with $2, but said: $said"
      exit 1
      ;;
  esac
  rm "$1"
}
refuses common/base/a.cc '#include "common/model/verdict.hh"' 'but common/base may include only'
refuses spank/a.cc '#include "common/base/result.hh"' 'but spank may include only: common/wire'
refuses service/a.cc '#include "epilog/queue.hh"' 'but service may include only'
refuses epilog/a.cc '#include <sqlite3.h>' 'belongs to: common/base/sqlite.'
refuses epilog/a.cc '#include "common/engine/place/place.hh"' 'but epilog may include only'
refuses common/engine/x/a.cc '#include "a.hh"' 'write the path from the root'
refuses common/extra/a.hh '' 'common/extra has no line'
