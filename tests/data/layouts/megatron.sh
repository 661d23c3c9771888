#!/bin/bash
# Llama 3.1 405B: 9 stages of 14 layers, in chunks of 2.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-144}
TP=8
PP=9

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size ${TP}
    --pipeline-model-parallel-size=$PP
    --num-layers-per-virtual-pipeline-stage 2   # 126 / 9 / 2 = 7 chunks
    --context-parallel-size 2
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)
TRAINING_ARGS="--micro-batch-size 1 --global-batch-size 504 --seq-length 8192 --bf16"

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${PARALLEL_ARGS[@]} $TRAINING_ARGS
