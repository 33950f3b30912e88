#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# "Ten minutes from a line to a rule of the site" in nvab-rules(5): what the page says is done here to
# the letter, every command and the pack as they stand in it, and each step says what the page
# promises.
set -eu
src=$(cd "${SRCDIR:-.}" && pwd)
build=$(cd "${BUILDDIR:-.}" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "$*" >&2
  exit 1
}

# The commands of the page: ".Dl $ COMMAND" and the literal block of a here-document. Its roff
# escapes a backslash as "\e".
awk '
  /^\.Sh/ { on = ($2 == "EXAMPLES") }
  !on { next }
  /^\.Bd/ { literal = 1; next }
  /^\.Ed/ { literal = 0; next }
  literal { print; next }
  sub(/^\.Dl \$ /, "") { print; next }
  sub(/^\.Dl END$/, "END") { print; next }
' "$src/man/nvab-rules.5" | sed 's/\\e/\\/g' > page.sh
grep -q '^nvab-rules diff' page.sh || fail "the page has no commands"

# A job to try it on: the site's daemon spoke, and the program failed.
mkdir -p bundles/job1/applog bundles/job1/syslog
cat > bundles/job1/job.json <<'END'
{"scheduler": "slurm", "cluster": "c", "job_id": "1", "state": "FAILED", "exit_code": "1:0",
 "start": "2026-04-01T08:00:00Z", "end": "2026-04-01T09:00:00Z", "nodes": ["ash7", "ash8"], "ntasks": 2}
END
echo '2026-04-01T08:59:55Z ash7 quasarfsd[99]: quasarfs: ash7: lease of /scratch lost, client evicted by mds2' \
  > bundles/job1/syslog/ash7.log
echo 'rank 0 gives up' > bundles/job1/applog/out.log

# A shell that runs one command of the page after the other, and keeps what each said.
mkdir bin
printf '#!/bin/sh\ncase "$*" in *--rules-dir*) ;; *) set -- --rules-dir /nowhere "$@" ;; esac\nexec "%s" "$@"\n' \
  "$build/obj/nvab-rules" > bin/nvab-rules
chmod +x bin/nvab-rules
PATH=$dir/bin:$PATH
export PATH

step=0
run() { # COMMAND: runs it, its output in out.N, its exit code in code.N
  step=$((step + 1))
  code=0
  sh -c "$1" > "out.$step" 2>&1 || code=$?
  echo "$code" > "code.$step"
}
text=
while IFS= read -r line; do
  text="$text$line
"
  case $text in
    *"<< 'END'"*) [ "$line" = END ] || continue ;;
  esac
  run "$text"
  text=
done < page.sh

said() { # COMMAND'S BEGINNING, CODE, WORDS: what the page promises of that step
  n=0
  while IFS= read -r line; do
    case $line in
      "echo "* | "mkdir "* | "cat "* | "nvab-rules "* | "sed "*) n=$((n + 1)) ;;
      *) continue ;;
    esac
    case $line in "$1"*) break ;; esac
  done < page.sh
  [ "$(cat "code.$n")" = "$2" ] || fail "$1: exit code $(cat "code.$n") and not $2: $(cat "out.$n")"
  grep -q -- "$3" "out.$n" || fail "$1: does not say '$3': $(cat "out.$n")"
}
said 'nvab-rules explain --all' 0 'no rule is near'
said 'nvab-rules lint' 0 ' 0 findings'
said 'nvab-rules --rules-dir rules.d test' 0 '1 rules, 2 tests, 0 failed'
said 'nvab-rules --rules-dir rules.d explain' 0 'fires  site.quasarfs.evicted'
said 'nvab-rules --rules-dir rules.d coverage' 0 'site.quasarfs.evicted *1 *1 *0 *0 *0 *0 *0 *1$'
said 'nvab-rules diff' 1 'root_cause .*-> site_quasarfs_evicted by site.quasarfs.evicted'

# In shadow mode nothing changed; now that the last step took it out, it does.
grep -q shadow rules.d/quasarfs.toml && fail "the rule is still in shadow mode"
code=0
nvab-rules diff builtin rules.d --on bundles > live || code=$?
[ "$code" = 1 ] || fail "out of shadow mode nothing changes"
echo 'shadow = true' > shadow
sed 's/^role = .*/&\nshadow = true/' rules.d/quasarfs.toml > shadow.toml
nvab-rules diff builtin shadow.toml --on bundles > none || fail "in shadow mode it changes: $(cat none)"
