#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes CTestTestfile.cmake: ctest_list.sh SRCDIR BUILDDIR TEST-SOURCE... ; ctest only reads it.
# A line "ctest: WORD..." behind // or # in the first ten lines of a test adds to its properties:
#   threads      has threads: also run under the thread sanitizer (make check-threads)
#   serial       must not run beside another test
#   timeout=N    seconds, instead of the default
set -eu
srcdir=$1
builddir=$2
shift 2

# Generous, because two cores may be busy with sanitizers; a hang is still found.
default_timeout=120
# A cluster of its own has to start first.
slurm_timeout=600

for file in "$@"; do
  base=$(basename "$file")
  labels=
  serial=
  timeout=$default_timeout
  case $file in
    tests/test_*.cc)
      name=${base#test_}
      name=${name%.cc}
      echo "add_test($name \"$builddir/obj/${file%.cc}\")" ;;
    tests/fuzz/*.cc)
      name=${base%.cc}
      labels=fuzz
      corpus=$srcdir/tests/fuzz/corpus/${name#fuzz_}
      if [ -d "$corpus" ]; then corpus=" \"$corpus\""; else corpus=; fi
      echo "add_test($name \"$builddir/obj/${file%.cc}\"$corpus)" ;;
    tests/slurm/*.sh)
      name=${base#test_}
      name=slurm_${name%.sh}
      labels=slurm
      serial=yes
      timeout=$slurm_timeout
      echo "add_test($name \"/bin/sh\" \"$srcdir/$file\")" ;;
    *.sh)
      name=${base#test_}
      name=${name%.sh}
      echo "add_test($name \"/bin/sh\" \"$srcdir/$file\")" ;;
  esac
  for word in $(sed -n '1,10s/^\(\/\/\|#\) ctest: //p' "$srcdir/$file"); do
    case $word in
      threads) labels=${labels:+$labels;}threads ;;
      serial) serial=yes ;;
      timeout=*) timeout=${word#timeout=} ;;
      *) echo "$file: unknown word '$word' after 'ctest:'; known: threads serial timeout=N" >&2; exit 1 ;;
    esac
  done
  echo "set_tests_properties($name PROPERTIES TIMEOUT $timeout SKIP_RETURN_CODE 77" \
    "ENVIRONMENT \"SRCDIR=$srcdir;BUILDDIR=$builddir\"${labels:+ LABELS \"$labels\"}${serial:+ RUN_SERIAL 1})"
done
