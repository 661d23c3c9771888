# Sizes as NVIDIA's scripts for MLPerf name them; numbers of our own.
source $(dirname ${BASH_SOURCE[0]})/config_common.sh

export MINIBS=$(( 2 * ${PP:-8} * 4 ))  # sequences of a replica
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL="${PP:-8}"
export INTERLEAVED_PIPELINE=8
export CONTEXT_PARALLEL=2
export MICRO_BATCH_SIZE=1
export ASYM_PP_EMBED=True
export ASYM_PP_LOSS=True

export DGXNNODES=32
export DGXNGPU=8
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\.sh$//' )
export WALLTIME_RUNANDTIME=60
export WALLTIME=$((5 + ${NEXP:-1} * ($WALLTIME_RUNANDTIME + 5)))
export PLATFORM_SRUN_OPTIONS='--export=ALL'
