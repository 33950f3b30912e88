# SPDX-License-Identifier: Apache-2.0
# Completion for nvab's programs. It asks --help, and so knows what the installed program knows.
_nvab_options() { # PROGRAM [COMMAND]
  "$@" --help 2>/dev/null | grep -oE -- '(^|[ ,])-{1,2}[a-z][a-z-]*' | tr -d ' ,' | sort -u
}

_nvab_commands() {
  "$1" --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p'
}

_nvab() {
  local program=$1 word=$2 previous=$3 words
  local command=
  if [[ ${program##*/} == nvab-rules && $COMP_CWORD -gt 1 ]]; then command=${COMP_WORDS[1]}; fi
  case $previous in
    --format) words='auto text json' ;;
    --lines) words='selected all' ;;
    --log-level) words='debug info warning error off' ;;
    --log-format) words='text json' ;;
    --connector) words='eca log metric output auth' ;;
    *)
      if [[ $word == -* ]]; then
        words=$(_nvab_options "$program" ${command:+"$command"})
      elif [[ ${program##*/} == nvab-rules && $COMP_CWORD -eq 1 ]]; then
        words=$(_nvab_commands "$program")
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "${words:-}" -- "$word")
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then compopt -o default; fi
}

complete -F _nvab nvab-run nvab-rules nvab-service nvab-web nvab-kueue-recorder
