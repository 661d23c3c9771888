#!/bin/sh
# Completion in each shell that is here, and the manual page.   completion_test.sh PROGRAM
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "completion: $1" >&2; exit 1; }
for shell in bash zsh fish man; do "$program" completion "$shell" >"$work/$shell"; done
status=0
"$program" completion tcsh >"$work/out" 2>&1 || status=$?
[ "$status" = 2 ] || fail "tcsh is not refused"

# What bash offers for a line, whose last word is being written.
cat >"$work/ask.bash" <<'ASK'
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sgdsim
printf '%s ' "${COMPREPLY[@]}"
ASK
# The words of zsh's own functions, without its line editor.
cat >"$work/ask.zsh" <<'ASK'
compdef() { }
compadd() { shift; print -r -- "$@" }
_describe() { [[ $1 == -o ]] && shift; print -r -- "${(@P)2%%:*}" }
_files() { print files }
source "$1"
shift
words=("$@") CURRENT=$# PREFIX=$@[-1]
_sgdsim
ASK

# shellcheck disable=SC2086 # words of a line are split
# offers SHELL WORD... -- EXPECTED...: each is offered behind these words.
offers() {
  shell=$1
  shift
  line=""
  for word in "$@"; do
    [ "$word" != -- ] || break
    line="$line${line:+ }$word"
  done
  case "$shell" in
    fish) found=$(fish --no-config -c "source '$work/fish'; complete -C '$line'" | cut -f 1 | tr '\n' ' ') ;;
    zsh) found=$(zsh -f "$work/ask.zsh" "$work/zsh" $line | tr '\n' ' ') ;;
    bash) found=$(bash "$work/ask.bash" "$work/bash" $line) ;;
  esac
  while [ "$1" != -- ]; do shift; done
  shift
  for word in "$@"; do
    case " $found " in
      *" $word "*) ;;
      *) fail "$shell: \"$line\" does not offer $word but: $found" ;;
    esac
  done
}

tested=""
for shell in bash fish zsh; do
  command -v "$shell" >/dev/null || continue
  tested="$tested $shell"
  offers "$shell" sgdsim la -- layout
  offers "$shell" sgdsim export ch -- chakra
  offers "$shell" sgdsim run --fid -- --fidelity
  offers "$shell" sgdsim collective --format j -- json
  offers "$shell" sgdsim export chakra --o -- --out
done

# Every command of the program is told everywhere.
for name in $("$program" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  for shell in bash zsh fish man; do
    grep -q "$name" "$work/$shell" || fail "$shell does not know $name"
  done
done
for command in $("$program" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  for option in $("$program" "$command" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
    grep -q -- "$(printf '%s' "$option" | sed 's/-/\\\\-/g')" "$work/man" || fail "the manual page does not know $command $option"
  done
done
if command -v man >/dev/null; then
  problems=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$work/man" 2>&1 >/dev/null)
  [ -z "$problems" ] || fail "the manual page: $problems"
fi
echo "completion:$tested: ok"
