#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks on the source that need no compiler: lint.sh, at the root of the source.
# Runs them all and names each that failed; `make lint` adds clang-tidy.
set -u

# The house rule asks why above 300 lines and refuses more than this; a table of test cases may go on.
max_file_lines=500
max_test_lines=700

if git rev-parse --git-dir >/dev/null 2>&1; then
  files=$(git ls-files --cached --others --exclude-standard | while read -r f; do [ -f "$f" ] && [ ! -L "$f" ] && echo "$f"; done)
else
  files=$(find . -type f ! -path './obj/*' | sed 's|^\./||')
fi

failed=
check() { # NAME FUNCTION
  if ! "$2"; then
    echo "lint: $1: failed" >&2
    failed="$failed $1"
  fi
}

matching() { # REGEX
  printf '%s\n' "$files" | grep -E "$1"
}

have() {
  command -v "$1" >/dev/null 2>&1 || {
    echo "$1 is not installed; './bootstrap check' installs it" >&2
    return 1
  }
}

formatting() {
  have clang-format || return 1
  matching '\.(cc|hh|c|h)$' | xargs -r clang-format --dry-run -Werror
}

# Shell scripts by their first line, since some have no suffix.
scripts() {
  have shellcheck || return 1
  printf '%s\n' "$files" | while read -r f; do
    case $(head -c 64 "$f" | head -n 1 | tr -d '\0') in
      '#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) echo "$f" ;;
    esac
  done | xargs -r shellcheck
}

manuals() {
  pages=$(matching '^man/.*\.[1-9]$') || return 0
  have mandoc || return 1
  # shellcheck disable=SC2086 # one word a page
  mandoc -T lint -W warning $pages
}

# Whatever can hold a comment says its licence in the first three lines.
licences() {
  bad=$(matching '(\.(cc|hh|c|h|sh|map|mk|in|ac|py|js|css|html|service|timer)|^Makefile|^bootstrap|^\.ci/run)$' \
    | grep -vE '^tests/(data|scenarios|fuzz/corpus)/' | while read -r f; do
      head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f has no SPDX line"
    done)
  [ -z "$bad" ] || { echo "$bad"; return 1; }
}

sizes() {
  bad=$(matching '\.(cc|hh|c|h)$' | while read -r f; do
    lines=$(wc -l <"$f") limit=$max_file_lines
    case $f in tests/*) limit=$max_test_lines ;; esac
    [ "$lines" -le "$limit" ] || echo "$f has $lines lines; split it (limit $limit)"
  done)
  [ -z "$bad" ] || { echo "$bad"; return 1; }
}

# Patterns, and lines of other programs, are quoted as they are: cut words, misspellings and all.
spelling() {
  have codespell || return 1
  printf '%s\n' "$files" |
    grep -vE '^(LICENSE|common/engine/(rules/|common_grams\.hh)|tests/(scenarios|data|fuzz/corpus)/)' | xargs codespell
}

c_code() {
  have cppcheck || return 1
  matching '^(common|epilog)/.*\.c$' | xargs -r cppcheck --quiet --std=c11 --enable=warning,portability \
    --inline-suppr --error-exitcode=1 -I.
}

layering() {
  SRCDIR=. sh tests/test_layering.sh
}

check formatting formatting
check scripts scripts
check manuals manuals
check licences licences
check sizes sizes
check spelling spelling
check c_code c_code
check layering layering
if [ -n "$failed" ]; then
  echo "lint: failed:$failed" >&2
  exit 1
fi
echo "lint: formatting, scripts, manuals, licences, sizes, spelling, C and layering are clean"
