#!/bin/sh
# What `./run demo` shows, on one screen; the first argument is the sgdsim program that was just built.
# With --all, tables of collectives come first; they are left in results/ as JSON too (schema
# sgdsim/collective-sweep/1).
set -eu
sgdsim=$1
what=${2:-}
[ -z "$what" ] || [ "$what" = --all ] || { echo "unknown word: $what; known: --all" >&2; exit 2; }
mkdir -p results

# show NAME TITLE OPTION...: a table on the screen, and the same in results/demo_NAME.json.
show() {
  name=$1
  printf '\n%s\n\n' "$2"
  shift 2
  "$sgdsim" collective --sweep "$@"
  "$sgdsim" collective --sweep "$@" --format json >"results/demo_$name.json"
}

collectives() {
show broadcast "1. Broadcast on 10 Gb/s Ethernet: binomial tree, exchange of halves, linear pipeline" \
  --cluster topologies/data/10gbe_16.json --set nodes=64 \
  --op broadcast --algorithm mst,be,lp --ranks 4,16,64 --bytes "4 KiB,1 MiB,244 MB"
cat <<'END'

   A short message costs start-ups: the tree sends lg P of them one after the other. A long one
   costs bytes: the tree sends all of them lg P times, the pipeline once, for any number of ranks.
END

show ethernet "2. All-reduce on the same Ethernet" \
  --cluster topologies/data/10gbe_16.json --set nodes=64 \
  --op allreduce --algorithm mst,be,lp,ring,recursive_doubling --ranks 4,16,48,64 \
  --bytes "4 KiB,256 KiB,16 MiB,256 MiB"
cat <<'END'

   48 is no power of two: be first folds 16 ranks into others, which doubles its bytes, and the ring
   wins. Twelve times as many ranks cost a long ring little, a short one all its start-ups.
END

show dgx "3. All-reduce on DGX H100: eight GPUs a node at NVLink, 400 Gb/s each between nodes" \
  --cluster topologies/data/dgx_h100_4.json --set nodes=16 \
  --op allreduce --algorithm ring,be,recursive_doubling,hierarchical,nccl --ranks 8,32,128 \
  --bytes "4 KiB,256 KiB,16 MiB,256 MiB"
cat <<'END'

   In a flat ring one GPU of a node sends to the next node, over one of eight cards. hierarchical
   reduces inside the nodes first, and all cards then carry an eighth each; be makes its large
   exchanges inside the nodes and its small ones across. nccl is what NCCL's own tuning model
   expects of its choice.

END
}

"$sgdsim" --version
[ "$what" != --all ] || collectives

points=results/demo_points.jsonl
"$sgdsim" sweep app/sweeps/nodes_bandwidth.json --out $points --force --quiet
printf '\nResNet-50, 2 to 256 nodes, 1 to 100 Gb/s: which way of exchanging gradients is fastest?\n\n'
"$sgdsim" plot $points --x nodes --y bandwidth --by strategy --best iteration --where "strategy != optimal"
cat <<'END'

Few nodes and a slow network: send small pieces by priority (p3, bytescheduler), because they overlap
the next forward pass. Many nodes: merge messages (mg_wfbp, ddp), because each one pays a start-up per node.

One iteration of BERT-base on 16 GPUs with 10 Gb/s Ethernet, as PyTorch exchanges it:

END
"$sgdsim" run traces/data/bert_base_asc.json -c topologies/data/10gbe_16.json 2>/dev/null
"$sgdsim" report $points app/sweeps/nodes_bandwidth.json --out results/demo.html --force
cat <<END

All 448 points as a page to look at: $(pwd)/results/demo.html

Now yours: what is my training's bottleneck, and what would help?
  $sgdsim advise traces/data/bert_base_asc.json -c topologies/data/leaf_spine_144.json
Now yours: which layout of a large model fits, how fast is it, and how many days does it take?
  $sgdsim layout "Llama-3 70B" -c topologies/data/dgx_h100_4.json --gpus 512 --tokens 15T
Now yours: a figure for a paper from these points
  $sgdsim plot $points --x nodes --y speedup --where "bandwidth == 10Gbps" --out results/speedup.pdf
END
