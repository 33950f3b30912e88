#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make install` puts down works where it lies: units, users and folders by systemd's own tools,
# completions by bash, and programs that are built as hardened as configure promises.
set -eu
build=$(cd "${BUILDDIR:-.}" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
bad=0

complain() {
  echo "$*"
  bad=1
}
need() {
  command -v "$1" >/dev/null 2>&1 || {
    echo "$1 is not installed; './bootstrap check' installs it"
    exit 77
  }
}
need systemd-analyze
need readelf
prefix=$(sed -n 's/^prefix = //p' "$build/config.mk")

make -s -C "$build" install DESTDIR="$root" >/dev/null

# ---- units --------------------------------------------------------------------------------------
# Most exposed to least, in tenths of systemd's score: what a unit may still do besides its work.
max_exposure() {
  case $1 in
    nvab-service.service) echo 20 ;;
    nvab-node.service) echo 70 ;; # root, whom the kernel's messages and the task records belong to
    *) echo 30 ;;
  esac
}
units=$root$prefix/lib/systemd/system
for unit in "$units"/*.service "$units"/*.timer; do
  name=$(basename "$unit")
  if grep -q '@' "$unit" && grep -qE '@(bindir|sbindir)@' "$unit"; then complain "$name names no folder"; fi
  # Started from where the programs are now; all other complaints are about the unit.
  sed "s|^ExecStart=|ExecStart=$root|" "$unit" >"$root/$name"
  words=$(systemd-analyze verify --man=no "$root/$name" 2>&1 | grep -F "$name" || true)
  [ -z "$words" ] || complain "systemd says of $name: $words"
  case $name in
    *.service)
      program=$root$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
      [ -x "$program" ] || complain "$name starts $program, which is not installed"
      systemd-analyze security --offline=yes --threshold="$(max_exposure "$name")" "$root/$name" >"$root/score" 2>&1 ||
        complain "$name: $(tail -n 1 "$root/score")"
      ;;
  esac
done
[ "$(find "$units" -name '*.service' | wc -l)" -ge 5 ] || complain "units are missing"

# The options in a unit are those of the program.
for option in $(cat "$units"/nvab-*.service | sed -n 's|^ExecStart=.*/nvab-run||p' | tr ' ' '\n' | grep '^--' | sort -u); do
  "$build/obj/nvab-run" --help | grep -q -- "$option" || complain "a unit uses $option, which nvab-run does not know"
done

# ---- users and folders -----------------------------------------------------------------------------
mkdir -p "$root/etc"
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
systemd-sysusers --root="$root" "$root$prefix/lib/sysusers.d/nvab.conf" >"$root/words" 2>&1 ||
  complain "sysusers: $(cat "$root/words")"
grep -q '^nvab:' "$root/etc/passwd" || complain "no user nvab: $(cat "$root/words")"
if [ "$(id -u)" -eq 0 ]; then
  systemd-tmpfiles --create --root="$root" "$root$prefix/lib/tmpfiles.d/nvab.conf" >"$root/words" 2>&1 ||
    complain "tmpfiles: $(cat "$root/words")"
  group=$(sed -n 's/^nvab:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
  while read -r path mode gid; do
    seen=$(stat -c '%a %g' "$root$path" 2>/dev/null || echo absent)
    [ "$seen" = "$mode $gid" ] || complain "$path is $seen and should be $mode $gid"
  done <<END
/var/spool/nvab/queue 2770 $group
/var/spool/nvab/queue/new 2770 $group
/var/spool/nvab/tasks 2750 $group
/var/lib/nvab 2770 $group
END
fi

# ---- completion ------------------------------------------------------------------------------------
words=$(PATH=$root$prefix/bin:$root$prefix/sbin:$PATH bash -c '
  . "$1"; compopt() { :; }
  COMP_WORDS=(nvab-run --rep) COMP_CWORD=1; _nvab nvab-run --rep nvab-run; echo "${COMPREPLY[*]}"
  COMP_WORDS=(nvab-rules li) COMP_CWORD=1; _nvab nvab-rules li nvab-rules; echo "${COMPREPLY[*]}"
  COMP_WORDS=(nvab-run --format j) COMP_CWORD=2; _nvab nvab-run j --format; echo "${COMPREPLY[*]}"
' - "$root$prefix/share/bash-completion/completions/nvab-run" | tr '\n' '|')
[ "$words" = '--replay|list lint|json|' ] || complain "bash completes to '$words'"

# ---- hardening -------------------------------------------------------------------------------------
sanitized=$(sed -n 's/^SANITIZE := *//p' "$build/config.mk")
for file in "$root$prefix"/bin/nvab-* "$root$prefix"/sbin/nvab-* "$root$prefix"/libexec/nvab/nvab-handoff \
  "$root$prefix"/lib/slurm/attribution.so; do
  name=$(basename "$file")
  readelf -hW "$file" | grep -q 'Type: *DYN' || complain "$name is not position-independent"
  readelf -lW "$file" | grep -q GNU_RELRO || complain "$name: no RELRO"
  readelf -dW "$file" | grep -q 'BIND_NOW\|FLAGS_1.*NOW' || complain "$name: symbols are bound late"
  readelf -lW "$file" | grep GNU_STACK | grep -q 'RW ' || complain "$name: the stack can be executed"
  if readelf -dW "$file" | grep -qE 'R(UN)?PATH'; then complain "$name looks for libraries in a folder of its own"; fi
  if readelf -dW "$file" | grep -q TEXTREL; then complain "$name has relocations in its code"; fi
  case $name in nvab-handoff) continue ;; esac # static: libc's own copies of these have no name
  readelf -sW "$file" | grep -q __stack_chk_fail || complain "$name: no stack protector"
  if [ -z "$sanitized" ]; then
    readelf -sW "$file" | grep -qE '__(memcpy|snprintf|read|vsnprintf|memset|fprintf|printf|vfprintf)_chk' || complain "$name: not fortified"
  fi
done
case $(uname -m) in
  x86_64)
    # Whole programs lose the mark where a library that they link lacks it, so look at our own code.
    objdump -d --no-show-raw-insn "$build/obj/common/base/text.o" | grep -q endbr64 || complain "no control-flow protection"
    ;;
esac
exit $bad
