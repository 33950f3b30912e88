#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual pages and the programs say the same: every option that --help shows is in the page, the page
# shows no other, every parameter of a component is in nvab.conf(5), and the example settings are good.
set -eu
src=${SRCDIR:-.}
obj=${BUILDDIR:-.}/obj
bad=0

complain() {
  echo "$*"
  bad=1
}

options_of_help() { # from --help of a program and its commands, "--name" a line
  grep -oE -- '(^|[ ,])--[a-z][a-z-]+' | tr -d ' ,' | sort -u
}

options_of_page() { # "Fl -name" in list items and in the synopsis of commands
  sed 's/Fl [a-z] , -/Fl -/' "$1" | grep -E '^\.(It|Op|Fl)' | grep -oE 'Fl -[a-z][a-z-]+' | sed 's/^Fl /-/' | sort -u
}

compare() { # PROGRAM PAGE; help on stdin
  help=$(options_of_help)
  page=$(options_of_page "$2")
  for option in $help; do
    echo "$page" | grep -qx -- "$option" || complain "$2 does not say what $1 $option does"
  done
  for option in $page; do
    echo "$help" | grep -qx -- "$option" || complain "$2 speaks of $option, which $1 does not know"
  done
}

"$obj/nvab-run" --help | compare nvab-run "$src/man/nvab-run.1"
{
  "$obj/nvab-rules" --help
  for command in list show lint test explain coverage diff; do "$obj/nvab-rules" "$command" --help; done
} | compare nvab-rules "$src/man/nvab-rules.1"

"$obj/nvab-service" --help | compare nvab-service "$src/man/nvab-service.8"
for word in $("$obj/nvab-service" --show-config --state memory | sed -n 's/^#\{0,1\} *\([a-z_]*\) = .*/\1/p'); do
  grep -qx ".It Li $word" "$src/man/nvab-service.8" || complain "man/nvab-service.8 does not say what $word is"
done
"$obj/nvab-web" --help | compare nvab-web "$src/man/nvab-web.8"
for word in $("$obj/nvab-web" --show-config | sed -n 's/^#\{0,1\} *\([a-z_]*\) = .*/\1/p'); do
  grep -qx ".It Li $word" "$src/man/nvab-web.8" || complain "man/nvab-web.8 does not say what $word is"
done
"$obj/nvab-web" --show-config --config "$src/service/examples/nvab-web.conf" >/dev/null ||
  complain "service/examples/nvab-web.conf is refused"
for code in $(sed -n 's/.*{P::[a-z_]*, [0-9]*, "\([a-z_]*\)".*/\1/p' "$src/service/problem.cc"); do
  cat "$src/man/nvab-service.8" "$src/man/nvab-web.8" | grep -qx ".It Li $code" ||
    complain "neither man/nvab-service.8 nor man/nvab-web.8 lists the error $code"
done
"$obj/nvab-service" --show-config --config "$src/service/examples/nvab-service.conf" >/dev/null ||
  complain "service/examples/nvab-service.conf is refused"

# "[log.file]  help" opens a section, "    paths  list  help" is a parameter of it.
page=$src/man/nvab.conf.5
section=
"$obj/nvab-run" --list-connectors >"${TMPDIR:-/tmp}/connectors.$$"
while read -r first _; do
  case $first in
    '['*)
      section=$first
      grep -qF ".Ss $section" "$page" || complain "$page has no section $section"
      ;;
    *)
      awk -v section=".Ss $section" '$0 == section { on = 1; next } /^\.S[sh] / { on = 0 } on' "$page" |
        grep -qE "Li $first( |\$)" || complain "$page does not say what $first in $section is"
      ;;
  esac
done <"${TMPDIR:-/tmp}/connectors.$$"
rm -f "${TMPDIR:-/tmp}/connectors.$$"

# The examples name files that are not here: their settings are read, and nothing is opened.
for example in nvab-run.toml nvab.conf; do
  "$obj/nvab-run" --show-config --config "$src/epilog/examples/$example" >/dev/null ||
    complain "epilog/examples/$example is not good"
done
[ "$("$obj/nvab-run" --show-config --config "$src/epilog/examples/nvab-run.toml" | sed 's/ *#.*//')" = \
  "$("$obj/nvab-run" --show-config --config "$src/epilog/examples/nvab.conf" | sed 's/ *#.*//')" ] ||
  complain "the two examples differ"
exit $bad
