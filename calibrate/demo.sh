#!/bin/sh
# Measures collectives on this machine, fits half of the sizes, predicts the other half:
#   calibrate/demo.sh BIN_FOLDER
# On GPUs where CUDA finds any, else among 2 and 4 threads. Everything goes to results/calibrate/.
set -eu
bin=$1
out=results/calibrate
mkdir -p "$out"

say() { printf '\n== %s\n' "$*"; }

# Exit code 2: no GPU to be used. Anything else that is not 0 is a fault of the GPU or ours, which
# measuring threads instead would hide.
backend=cuda
code=0
why=$("$bin/sgdsim-calibrate" --backend cuda --ranks 2 --to "4 KiB" --verify-only -q 2>&1) || code=$?
if [ "$code" -eq 2 ]; then
  backend=host
  printf 'The GPU is not used: %s\n' "$why"
elif [ "$code" -ne 0 ]; then
  printf 'The GPU does not give the right results:\n%s\n' "$why" >&2
  exit 1
fi

say "Measuring with the $backend backend, 2 and 4 ranks"
"$bin/sgdsim-calibrate" --backend "$backend" --ranks 2,4 --from "1 KiB" --to "16 MiB" \
  --per-doubling 2 --time-limit "60 s" --out "$out/measurement.json"

say "Fitting half of the sizes of each curve and predicting the other half"
"$bin/sgdsim" fit "$out/measurement.json" --report "$out/fit.html" >"$out/fit.txt" 2>"$out/fit.log"
"$bin/sgdsim" fit "$out/measurement.json" --format json >"$out/fit.json" 2>>"$out/fit.log"
grep -E "^[a-z]|held out" "$out/fit.txt" | grep -v "^from"

say "The link under the ring all-reduce, and what the simulator makes of it"
for ranks in 2 4; do
  "$bin/sgdsim" fit "$out/measurement.json" -a ring --op allreduce -p "$ranks" \
    --from-collective stated --name "ring_allreduce_$ranks" \
    --out "$out/cluster_$ranks.json" --case "$out/case_$ranks.json" 2>>"$out/fit.log" |
    grep -v "^ring\|^series"
done
"$bin/sgdsim" validate "$out"/case_[24].json || true # a verdict, not a failure of this script

say "Written to $out/: measurement.json, fit.*, and per number of ranks cluster_N.json, case_N.json"
