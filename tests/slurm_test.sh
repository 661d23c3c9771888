#!/bin/sh
# A sweep as a job array of a real Slurm: one controller and two nodes, all on this host, without
# root's services (no munge, systemd, cgroups). One task is requeued while it runs and one is killed;
# the merged points must be those of a single process, to the byte.
#
# slurm_test.sh SGDSIM. Exit code 77: skipped, with the reason.
set -eu
sgdsim=$1
skip() { echo "skipped: $1"; exit 77; }
for program in slurmctld slurmd sbatch scontrol squeue; do
  command -v "$program" >/dev/null || skip "$program is missing; the Debian package is slurm-wlm"
done
[ "$(id -u)" = 0 ] || skip "slurmd wants to be root"

here=$(mktemp -d /tmp/sgdsim-slurm-XXXXXX)
export SLURM_CONF="$here/slurm.conf"
user=$(id -un)
daemons=""
end() {
  status=$?
  # shellcheck disable=SC2086
  kill $daemons 2>/dev/null || true
  wait
  if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then tail -n 20 "$here"/*.log >&2 || true; fi
  rm -rf "$here"
}
trap end EXIT

mkdir "$here/state"
# The ports depend on the process, so that two tests may run on one host.
port=$((20000 + $$ % 10000 * 3))
cat >"$SLURM_CONF" <<END
ClusterName=sgdsim
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool-%n
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd-%n.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd-%n.log
NodeName=n1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2
NodeName=n2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2
PartitionName=p Nodes=ALL Default=YES State=UP
END
slurmctld -D -f "$SLURM_CONF" >"$here/ctld.out.log" 2>&1 &
daemons="$daemons $!"
for node in n1 n2; do
  slurmd -D -N $node -f "$SLURM_CONF" >"$here/$node.out.log" 2>&1 &
  daemons="$daemons $!"
done

# within SECONDS COMMAND...: until it succeeds.
within() {
  left=$(($1 * 5))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ $left -gt 0 ] || { echo "waited in vain for: $*" >&2; return 1; }
    sleep 0.2
  done
}
both_idle() { [ "$(sinfo -h -t idle -o %D)" = 2 ]; }
within 60 both_idle

# Eight tasks of a second or so each: message fidelity with jitter.
root=$(cd "$(dirname "$0")/.." && pwd)
cat >"$here/sweep.json" <<END
{
  "schema": "sgdsim/sweep/1",
  "base": "$root/app/experiments/googlenet_k80.json",
  "axes": {
    "cluster.nodes": [60, 64],
    "fidelity": ["message"],
    "strategy": ["wfbp", "no_such_strategy"],
    "seed": {"from": 1, "to": 12000, "step": 1}
  }
}
END
set_jitter="--set=workers.jitter.distribution=lognormal --set=workers.jitter.sigma=0.1"
# shellcheck disable=SC2086
"$sgdsim" sweep "$here/sweep.json" $set_jitter --out "$here/all.jsonl" \
  --emit slurm --tasks 8 --threads 1 >"$here/job.sh"
job=$(sbatch --parsable "$here/job.sh")

# The first task goes back to the queue, and the second one's process is killed, once each of them
# has written something.
part() { [ -s "$here/all.jsonl.part-$1.jsonl" ]; }
within 60 part 1
killed=$(pgrep -f "sweep $here/sweep.json.*--shard 1/8" | head -n 1 || true)
if [ -n "$killed" ]; then kill -9 "$killed"; fi
within 60 part 0
scontrol requeue "${job}_0"
finished() { [ -z "$(squeue -h -j "$job" -r -o %i)" ]; }
within 240 finished
[ -n "$killed" ] || { echo "task 1 ended before it could be killed" >&2; exit 1; }
grep -q "DUE TO JOB REQUEUE" "$here/all.jsonl.task-0.log"
# A task that was killed failed; it is submitted again by itself.
again=$(sbatch --parsable --array=1 "$here/job.sh")
job=$again
within 120 finished

"$sgdsim" merge "$here"/all.jsonl.part-*.jsonl --out "$here/all.jsonl"
# shellcheck disable=SC2086
"$sgdsim" sweep "$here/sweep.json" $set_jitter --quiet --out "$here/one.jsonl" || [ $? -eq 1 ]
cmp "$here/all.jsonl" "$here/one.jsonl"
echo "$(wc -l <"$here/all.jsonl") points, 8 tasks, one requeued, one killed: identical"
