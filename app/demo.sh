#!/bin/sh
# What `./run demo` shows; its argument is the sgdsim program that was just built. The tables are left
# in results/ as JSON too (schema sgdsim/collective-sweep/1).
set -eu
sgdsim=$1
mkdir -p results

# show NAME TITLE OPTION...: a table on the screen, and the same in results/demo_NAME.json.
show() {
  name=$1
  printf '\n%s\n\n' "$2"
  shift 2
  "$sgdsim" collective --sweep "$@"
  "$sgdsim" collective --sweep "$@" --format json >"results/demo_$name.json"
}

"$sgdsim" --version

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
cat <<'END'
4. What if? ResNet-50 on 2 to 256 nodes and 1 to 100 Gb/s: which of eight ways of exchanging gradients
   takes the shortest time?

END
rm -f results/demo_whatif.jsonl
"$sgdsim" sweep app/sweeps/nodes_bandwidth.json --out results/demo_whatif.jsonl \
  --minimize metrics.iteration_us --picture results/demo_whatif.svg
cat <<'END'

   With few nodes and a slow network the order of messages matters, and partitions by priority win.
   With many nodes start-ups matter, and merging wins; the published rule of MG-WFBP does as well as
   the exact optimum where the network is fast. Where compute hides everything, all are alike.

   Every point, as lines of JSON: results/demo_whatif.jsonl. The picture: results/demo_whatif.svg.

END
echo "The tables as JSON: results/demo_*.json. More: build/release/bin/sgdsim sweep --help"
