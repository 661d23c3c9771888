#!/bin/sh
# The library as other programs have it: installed, found by find_package, asked in C and C++, with no
# symbol but its own.   library_test.sh SOURCE BUILD
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "library: $1" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >/dev/null
for file in bin/sgdsim include/sgdsim/sgdsim.h include/sgdsim/arrow.h share/man/man1/sgdsim.1.gz \
  share/bash-completion/completions/sgdsim share/zsh/vendor-completions/_sgdsim \
  share/fish/vendor_completions.d/sgdsim.fish lib/python3/dist-packages/sgdsim/__init__.py; do
  [ -e "$work/prefix/$file" ] || fail "$file is not installed"
done
library=$(find "$work/prefix" -name 'libsgdsim.so')
[ -n "$library" ] || fail "libsgdsim.so is not installed"

cmake -S "$source/library/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/examples" >/dev/null
cd "$source"
"$work/prefix/bin/sgdsim" collective -a ring -n "64 MiB" -c 10gbe_16 --format json >"$work/line.json"
expected=$(sed -n 's/^ *"time_us": \(.*\),$/\1/p' "$work/line.json" | head -n 1)
[ -n "$expected" ] || fail "the command line has no time_us"
[ "$("$work/examples/ten_lines")" = "$expected us" ] ||
  fail "ten_lines says $("$work/examples/ten_lines"), the command line $expected us"
"$work/examples/plain" >"$work/plain.txt" || fail "plain.c ends with $?"
head -c "$(wc -c <"$work/line.json")" "$work/plain.txt" | cmp - "$work/line.json" ||
  fail "plain.c does not print what the command line does"
grep -q 'did you mean "ring"' "$work/plain.txt" || fail "plain.c does not tell the mistake"

folder=$(dirname "$library")
${CC:-cc} -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -frounding-math "$source/tests/library_host.c" -I "$work/prefix/include" \
  -L "$folder" -lsgdsim -lpthread -lm -o "$work/host"
LD_LIBRARY_PATH="$folder" "$work/host" || fail "library_host.c ends with $?"

${CXX:-c++} -std=c++17 -Wall -Wextra -Werror "$source/tests/library/errors.cpp" -I "$work/prefix/include" -L "$folder" \
  -lsgdsim -o "$work/errors"
LD_LIBRARY_PATH="$folder" "$work/errors" || fail "library/errors.cpp ends with $?"

if command -v python3 >/dev/null; then
  found=$(cd / && PYTHONPATH="$work/prefix/lib/python3/dist-packages" python3 -c \
    "import sgdsim; print(sgdsim.collective('ring', ranks=16, bytes='64 MiB', cluster='10gbe_16').time)")
  line=$("$work/prefix/bin/sgdsim" collective -a ring -p 16 -n "64 MiB" -c 10gbe_16 2>/dev/null | sed -n 's/^time *//p')
  [ "$found" = "$line" ] || fail "the installed module says $found, the command line $line"
fi

# A container is built from the packages that ./run installs, but for those of tests.
for package in $(sed -n '/^build_packages="/,/"$/p' "$source/run" | tr -d '"' | sed 's/build_packages=//'); do
  case "$package" in doctest-dev | libbenchmark-dev | libeigen3-dev) continue ;; esac
  grep -qw -- "$package" "$source/Containerfile" || fail "the Containerfile does not install $package"
done

# Whatever else is defined would clash with other libraries.
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)
listed=$(sed -n 's/^    \(sgdsim_[a-z_]*\);$/\1/p' "$source/library/symbols.map" | sort)
[ "$shown" = "$listed" ] || fail "symbols that are shown: $shown; listed: $listed"
echo "library: ok"
