#!/bin/sh
# 64 threads that ask the library at once, with a sanitizer in both: FOLDER LIBRARY SANITIZER
set -eu
source=$1
folder=$(dirname -- "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/include"
ln -s "$source/library" "$work/include/sgdsim"
clang -std=c99 -D_GNU_SOURCE -g -frounding-math -fsanitize="$3" -I "$work/include" "$source/tests/library_host.c" \
  -L "$folder" -lsgdsim -lpthread -lm -o "$work/host"
cd "$source"
LD_LIBRARY_PATH="$folder" TSAN_OPTIONS=exitcode=66 "$work/host"
