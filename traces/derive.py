#!/usr/bin/env python3
"""Writes the derived traces of traces/data: layers from architectures, times from totals.

A derived trace is made of two things. The layers, their tensors and their operations follow from
the architecture, written out below; so the parameter counts are exact. The time of the whole
forward and backward pass is one figure from a publication, named in `source`, and is divided among
the layers in proportion to their operations: the multiply-accumulates of convolutions, linear
layers and attention, and one operation per element of what normalisations and embeddings put out.
That is right for layers that are bound by arithmetic; layers bound by memory (normalisations, the
large tensors of the first convolutions) take longer than it says, and the others less.

usage: derive.py [--out FOLDER]     default: the folder `data` beside this file
"""
import os
import sys

ARCHITECTURE = "Layers and tensors follow from the architecture. "
DIVIDED = "Divided among layers by operation counts; no layer was measured. "
SPLIT = "Split 1:2 into forward and backward, an assumption. "
NOTE = "the layer times of this trace are derived from operation counts, not measured"


class Net:
    """Layers in forward order; each is a name, parameter counts per tensor, and operations."""

    def __init__(self):
        self.layers = []

    def add(self, name, tensors, operations):
        self.layers.append((name, tensors, operations))

    def conv(self, name, shape, out, kernel, stride=1, pad=0, bias=False, groups=1):
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        ph, pw = pad if isinstance(pad, tuple) else (pad, pad)
        channels, height, width = shape
        height = (height + 2 * ph - kh) // stride + 1
        width = (width + 2 * pw - kw) // stride + 1
        weights = out * channels // groups * kh * kw
        self.add(name, [weights] + [out] * bias, weights * height * width)
        return out, height, width

    def norm(self, name, shape):
        channels, height, width = shape
        self.add(name, [channels, channels], channels * height * width)
        return shape

    def linear(self, name, inputs, outputs, bias=True, tokens=1, extra=0):
        self.add(name, [inputs * outputs] + [outputs] * bias, tokens * inputs * outputs + extra)

    def vector_norm(self, name, width, tokens, bias=True):
        self.add(name, [width] * (1 + bias), tokens * width)

    def embedding(self, name, rows, width, tokens):
        self.add(name, [rows * width], tokens * width)


def pool(shape, kernel, stride, pad=0):
    channels, height, width = shape
    return (channels, (height + 2 * pad - kernel) // stride + 1,
            (width + 2 * pad - kernel) // stride + 1)


def alexnet():
    net = Net()
    shape = net.conv("features.0", (3, 224, 224), 64, 11, stride=4, pad=2, bias=True)
    shape = net.conv("features.3", pool(shape, 3, 2), 192, 5, pad=2, bias=True)
    shape = net.conv("features.6", pool(shape, 3, 2), 384, 3, pad=1, bias=True)
    shape = net.conv("features.8", shape, 256, 3, pad=1, bias=True)
    net.conv("features.10", shape, 256, 3, pad=1, bias=True)
    net.linear("classifier.1", 256 * 6 * 6, 4096)
    net.linear("classifier.4", 4096, 4096)
    net.linear("classifier.6", 4096, 1000)
    return net


def vgg16():
    net = Net()
    shape = (3, 224, 224)
    index = 0
    for convolutions, channels in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(convolutions):
            shape = net.conv(f"features.{index}", shape, channels, 3, pad=1, bias=True)
            index += 2
        shape = pool(shape, 2, 2)
        index += 1
    net.linear("classifier.0", 512 * 7 * 7, 4096)
    net.linear("classifier.3", 4096, 4096)
    net.linear("classifier.6", 4096, 1000)
    return net


def resnet(blocks_per_stage, groups=1, group_width=64):
    """Of bottleneck blocks; ResNeXt has more groups, of another width."""
    net = Net()
    shape = net.norm("bn1", net.conv("conv1", (3, 224, 224), 64, 7, stride=2, pad=3))
    shape = pool(shape, 3, 2, 1)
    for stage, (blocks, width) in enumerate(zip(blocks_per_stage, (64, 128, 256, 512)), 1):
        inside = width * group_width // 64 * groups
        for block in range(blocks):
            name = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            inner = net.norm(name + "bn1", net.conv(name + "conv1", shape, inside, 1))
            inner = net.norm(name + "bn2", net.conv(name + "conv2", inner, inside, 3, stride, 1,
                                                    groups=groups))
            inner = net.norm(name + "bn3", net.conv(name + "conv3", inner, 4 * width, 1))
            if block == 0:
                shortcut = name + "downsample."
                net.norm(shortcut + "1", net.conv(shortcut + "0", shape, 4 * width, 1, stride))
            shape = inner
    net.linear("fc", 2048, 1000)
    return net


def densenet(growth, first, blocks):
    net = Net()
    shape = net.conv("features.conv0", (3, 224, 224), first, 7, stride=2, pad=3)
    shape = pool(net.norm("features.norm0", shape), 3, 2, 1)
    for block, layers in enumerate(blocks, 1):
        for layer in range(1, layers + 1):
            name = f"features.denseblock{block}.denselayer{layer}."
            inner = net.conv(name + "conv1", net.norm(name + "norm1", shape), 4 * growth, 1)
            net.conv(name + "conv2", net.norm(name + "norm2", inner), growth, 3, pad=1)
            shape = (shape[0] + growth, shape[1], shape[2])
        if block < len(blocks):
            name = f"features.transition{block}."
            shape = net.conv(name + "conv", net.norm(name + "norm", shape), shape[0] // 2, 1)
            shape = pool(shape, 2, 2)
    net.norm("features.norm5", shape)
    net.linear("classifier", shape[0], 1000)
    return net


def inception_v3():
    """Without the auxiliary classifier, which has 3,326,696 parameters more."""
    net = Net()

    def chain(name, shape, steps):
        """Convolutions with normalisation one after the other: (suffix, out, kernel, ...)."""
        for suffix, *step in steps:
            shape = net.norm(name + suffix + ".bn", net.conv(name + suffix + ".conv", shape, *step))
        return shape

    wide = lambda suffix, out: (suffix, out, (1, 7), 1, (0, 3))
    tall = lambda suffix, out: (suffix, out, (7, 1), 1, (3, 0))
    shape = chain("Conv2d_", (3, 299, 299),
                  [("1a_3x3", 32, 3, 2), ("2a_3x3", 32, 3), ("2b_3x3", 64, 3, 1, 1)])
    shape = chain("Conv2d_", pool(shape, 3, 2), [("3b_1x1", 80, 1), ("4a_3x3", 192, 3)])
    shape = pool(shape, 3, 2)
    for block, pooled in (("5b", 32), ("5c", 64), ("5d", 64)):
        name = f"Mixed_{block}.branch"
        chain(name, shape, [("1x1", 64, 1)])
        chain(name + "5x5", shape, [("_1", 48, 1), ("_2", 64, 5, 1, 2)])
        chain(name + "3x3dbl", shape, [("_1", 64, 1), ("_2", 96, 3, 1, 1), ("_3", 96, 3, 1, 1)])
        chain(name, shape, [("_pool", pooled, 1)])
        shape = (64 + 64 + 96 + pooled,) + shape[1:]
    chain("Mixed_6a.branch", shape, [("3x3", 384, 3, 2)])
    inner = chain("Mixed_6a.branch3x3dbl", shape,
                  [("_1", 64, 1), ("_2", 96, 3, 1, 1), ("_3", 96, 3, 2)])
    shape = (384 + 96 + shape[0],) + inner[1:]
    for block, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        name = f"Mixed_{block}.branch"
        chain(name, shape, [("1x1", 192, 1)])
        chain(name + "7x7", shape, [("_1", width, 1), wide("_2", width), tall("_3", 192)])
        chain(name + "7x7dbl", shape, [("_1", width, 1), tall("_2", width), wide("_3", width),
                                       tall("_4", width), wide("_5", 192)])
        chain(name, shape, [("_pool", 192, 1)])
    chain("Mixed_7a.branch3x3", shape, [("_1", 192, 1), ("_2", 320, 3, 2)])
    inner = chain("Mixed_7a.branch7x7x3", shape,
                  [("_1", 192, 1), wide("_2", 192), tall("_3", 192), ("_4", 192, 3, 2)])
    shape = (320 + 192 + shape[0],) + inner[1:]
    for block in ("7b", "7c"):
        name = f"Mixed_{block}.branch"
        chain(name, shape, [("1x1", 320, 1)])
        for part, steps in (("3x3_2", [("3x3_1", 384, 1)]),
                            ("3x3dbl_3", [("3x3dbl_1", 448, 1), ("3x3dbl_2", 384, 3, 1, 1)])):
            inner = chain(name, shape, steps)
            chain(name + part, inner, [("a", 384, (1, 3), 1, (0, 1))])
            chain(name + part, inner, [("b", 384, (3, 1), 1, (1, 0))])
        chain(name, shape, [("_pool", 192, 1)])
        shape = (320 + 4 * 384 + 192,) + shape[1:]
    net.linear("fc", 2048, 1000)
    return net


def inception_v4():
    net = Net()

    def chain(name, shape, steps):
        """Convolutions with normalisation one after the other: (out, kernel[, stride[, pad]])."""
        for index, step in enumerate(steps):
            one = f"{name}.{index}" if len(steps) > 1 else name
            shape = net.norm(one + ".bn", net.conv(one + ".conv", shape, *step))
        return shape

    wide = lambda out: (out, (1, 7), 1, (0, 3))
    tall = lambda out: (out, (7, 1), 1, (3, 0))
    shape = chain("features.0", (3, 299, 299), [(32, 3, 2)])
    shape = chain("features.1", shape, [(32, 3)])
    shape = chain("features.2", shape, [(64, 3, 1, 1)])
    shape = chain("features.3.conv", shape, [(96, 3, 2)])
    shape = (160,) + shape[1:]
    chain("features.4.branch0", shape, [(64, 1), (96, 3)])
    shape = chain("features.4.branch1", shape, [(64, 1), wide(64), tall(64), (96, 3)])
    shape = chain("features.5.conv", (192,) + shape[1:], [(192, 3, 2)])
    shape = (384,) + shape[1:]
    for index in range(6, 10):
        name = f"features.{index}.branch"
        chain(name + "0", shape, [(96, 1)])
        chain(name + "1", shape, [(64, 1), (96, 3, 1, 1)])
        chain(name + "2", shape, [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)])
        chain(name + "3.1", shape, [(96, 1)])
    chain("features.10.branch0", shape, [(384, 3, 2)])
    shape = chain("features.10.branch1", shape, [(192, 1), (224, 3, 1, 1), (256, 3, 2)])
    shape = (1024,) + shape[1:]
    for index in range(11, 18):
        name = f"features.{index}.branch"
        chain(name + "0", shape, [(384, 1)])
        chain(name + "1", shape, [(192, 1), wide(224), tall(256)])
        chain(name + "2", shape, [(192, 1), tall(192), wide(224), tall(224), wide(256)])
        chain(name + "3.1", shape, [(128, 1)])
    chain("features.18.branch0", shape, [(192, 1), (192, 3, 2)])
    shape = chain("features.18.branch1", shape, [(256, 1), wide(256), tall(320), (320, 3, 2)])
    shape = (1536,) + shape[1:]
    for index in range(19, 22):
        name = f"features.{index}.branch"
        flat = lambda out: [(out, (1, 3), 1, (0, 1))]
        high = lambda out: [(out, (3, 1), 1, (1, 0))]
        chain(name + "0", shape, [(256, 1)])
        inner = chain(name + "1_0", shape, [(384, 1)])
        chain(name + "1_1a", inner, flat(256))
        chain(name + "1_1b", inner, high(256))
        inner = chain(name + "2_0", shape, [(384, 1)])
        inner = chain(name + "2_2", chain(name + "2_1", inner, high(448)), flat(512))
        chain(name + "2_3a", inner, flat(256))
        chain(name + "2_3b", inner, high(256))
        chain(name + "3.1", shape, [(256, 1)])
    net.linear("last_linear", 1536, 1000)
    return net


def lstm_ptb(vocabulary=10_000, width=1500):
    net = Net()
    net.embedding("encoder", vocabulary, width, 1)
    for layer in range(2):
        gates = 4 * width
        net.add(f"rnn.l{layer}", [gates * width] * 2 + [gates] * 2, 2 * gates * width)
    net.linear("decoder", width, vocabulary)
    return net


def bert(layers, width, tokens):
    """The two products of attention have no parameters; they count with the projection after."""
    net = Net()
    attention = 2 * tokens * tokens * width
    for table, rows in (("word", 30522), ("position", 512), ("token_type", 2)):
        net.embedding(f"embeddings.{table}_embeddings", rows, width, tokens)
    net.vector_norm("embeddings.LayerNorm", width, tokens)
    for index in range(layers):
        name = f"encoder.layer.{index}."
        for part in ("query", "key", "value"):
            net.linear(f"{name}attention.self.{part}", width, width, tokens=tokens)
        net.linear(name + "attention.output.dense", width, width, tokens=tokens, extra=attention)
        net.vector_norm(name + "attention.output.LayerNorm", width, tokens)
        net.linear(name + "intermediate.dense", width, 4 * width, tokens=tokens)
        net.linear(name + "output.dense", 4 * width, width, tokens=tokens)
        net.vector_norm(name + "output.LayerNorm", width, tokens)
    net.linear("pooler.dense", width, width)
    return net


def gpt2(layers, width, tokens=1024, vocabulary=50257):
    """The output layer shares its weights with wte, so it has time and no parameters."""
    net = Net()
    attention = 2 * tokens * tokens * width
    net.embedding("wte", vocabulary, width, tokens)
    net.embedding("wpe", 1024, width, tokens)
    for index in range(layers):
        name = f"h.{index}."
        net.vector_norm(name + "ln_1", width, tokens)
        net.linear(name + "attn.c_attn", width, 3 * width, tokens=tokens)
        net.linear(name + "attn.c_proj", width, width, tokens=tokens, extra=attention)
        net.vector_norm(name + "ln_2", width, tokens)
        net.linear(name + "mlp.c_fc", width, 4 * width, tokens=tokens)
        net.linear(name + "mlp.c_proj", 4 * width, width, tokens=tokens)
    net.vector_norm("ln_f", width, tokens)
    net.add("lm_head (weights of wte)", [], tokens * width * vocabulary)
    return net


def llama(layers=32, width=4096, hidden=11008, tokens=2048, vocabulary=32000):
    net = Net()
    attention = 2 * tokens * tokens * width
    plain = {"bias": False, "tokens": tokens}
    net.embedding("embed_tokens", vocabulary, width, tokens)
    for index in range(layers):
        name = f"layers.{index}."
        net.vector_norm(name + "input_layernorm", width, tokens, bias=False)
        for part in "qkv":
            net.linear(f"{name}self_attn.{part}_proj", width, width, **plain)
        net.linear(name + "self_attn.o_proj", width, width, extra=attention, **plain)
        net.vector_norm(name + "post_attention_layernorm", width, tokens, bias=False)
        net.linear(name + "mlp.gate_proj", width, hidden, **plain)
        net.linear(name + "mlp.up_proj", width, hidden, **plain)
        net.linear(name + "mlp.down_proj", hidden, width, **plain)
    net.vector_norm("norm", width, tokens, bias=False)
    net.linear("lm_head", width, vocabulary, **plain)
    return net


def split(total_ps):
    """A third forward, the rest backward."""
    forward = (2 * total_ps + 3) // 6
    return forward, total_ps - forward


# Picoseconds.
US, MS, S = 10**6, 10**9, 10**12
TPDS = "MG-WFBP (Shi et al., IEEE TPDS 2021, arXiv 1912.09268)"
ASC = "ASC-WFBP (Shi et al., INFOCOM 2021)"
U39 = "repository u39kun/deep-learning-benchmark (PyTorch 0.3.0, V100 of Amazon p3, 32 bit)"
UNSTATED = "Batch and device are not stated there. "
MEASURED_HALVES = "Measured: forward, and forward with backward, "



def ddp_on_dgx1(name, model, milliseconds, net, parameters, tensors):
    """What PyTorch's own DDP benchmark took on one GPU, its copies into buckets included."""
    return (name, {
        "model": model, "framework": "PyTorch", "device": "NVIDIA V100 of a DGX-1",
        "date": "not stated",
        "source": f"Measured: {milliseconds} ms per iteration (p50) with DistributedDataParallel on "
                  "one GPU, repository pytorch/pytorch, benchmarks/distributed/ddp/README.md. " +
                  SPLIT + DIVIDED + ARCHITECTURE,
        "batch": 32}, net, split(milliseconds * MS), parameters, tensors)


# File name, header, layers, (forward, backward) in ps, parameters, tensors.
TRACES = [
    ddp_on_dgx1("resnet50_dgx1", "ResNet-50", 100, resnet((3, 4, 6, 3)), 25_557_032, 161),
    ddp_on_dgx1("resnet101_dgx1", "ResNet-101", 171, resnet((3, 4, 23, 3)), 44_549_160, 314),
    ddp_on_dgx1("resnext50_dgx1", "ResNeXt-50 32x4d", 147, resnet((3, 4, 6, 3), 32, 4),
                25_028_904, 161),
    ddp_on_dgx1("resnext101_dgx1", "ResNeXt-101 32x8d", 425, resnet((3, 4, 23, 3), 32, 8),
                88_791_336, 314),
    ("alexnet_p102", {
        "model": "AlexNet", "framework": "PyTorch", "device": "NVIDIA P102-100", "date": "2019",
        "source": "Measured: compute 0.257205 s per iteration of gTop-k S-SGD (Shi et al., ICDCS "
                  "2019, arXiv 1901.04359), 32 workers. " + SPLIT + DIVIDED + ARCHITECTURE,
        "batch": 64}, alexnet(), split(257_205 * US), 61_100_840, 16),
    ("vgg16_v100", {
        "model": "VGG-16", "framework": "PyTorch 0.3.0", "device": "NVIDIA V100", "date": "2018",
        "source": MEASURED_HALVES + "26.2 ms and 83.5 ms, " + U39 + ". " + DIVIDED + ARCHITECTURE,
        "batch": 16}, vgg16(), (26_200 * US, 57_300 * US), 138_357_544, 32),
    ("resnet152_v100", {
        "model": "ResNet-152", "framework": "PyTorch", "device": "NVIDIA V100", "date": "2019",
        "source": "Measured: compute 0.883118444 s per iteration, FP32, " + TPDS + ". " + SPLIT +
                  DIVIDED + ARCHITECTURE,
        "batch": 128}, resnet((3, 8, 36, 3)), split(883_118_444_000), 60_192_808, 467),
    ("densenet161_v100", {
        "model": "DenseNet-161", "framework": "PyTorch 0.3.0", "device": "NVIDIA V100",
        "date": "2018",
        "source": MEASURED_HALVES + "48.3 ms and 142.5 ms, " + U39 + ". " + DIVIDED +
                  ARCHITECTURE,
        "batch": 16}, densenet(48, 96, (6, 12, 36, 24)), (48_300 * US, 94_200 * US), 28_681_000,
     484),
    ("densenet201_v100", {
        "model": "DenseNet-201", "framework": "PyTorch", "device": "NVIDIA V100", "date": "2019",
        "source": "Measured: compute 0.360877356 s per iteration, FP32, " + TPDS + ". " + SPLIT +
                  DIVIDED + ARCHITECTURE,
        "batch": 64}, densenet(32, 64, (6, 12, 48, 32)), split(360_877_356_000), 20_013_928, 604),
    ("inception_v3_p100", {
        "model": "Inception V3 without the auxiliary classifier", "framework": "TensorFlow",
        "device": "NVIDIA P100 of a DGX-1", "date": "2017",
        "source": "Measured: 142 images/s on one GPU at batch 64, synthetic images, "
                  "tensorflow.org/performance/benchmarks of May 2017; the iteration of 64/142 s "
                  "includes the optimizer. " + SPLIT + DIVIDED + ARCHITECTURE,
        "batch": 64}, inception_v3(), split(64 * S // 142), 23_834_568, 284),
    ("inception_v4_asc", {
        "model": "Inception-v4", "framework": "PyTorch", "device": "not stated", "date": "2021",
        "source": "Measured: compute 0.18946122 s per iteration, " + ASC + ". " + UNSTATED + SPLIT +
                  DIVIDED + ARCHITECTURE},
     inception_v4(), split(189_461_220_000), 42_679_816, 449),
    ("lstm_ptb_p102", {
        "model": "LSTM-PTB, 2 x 1500, 10,000 words", "framework": "PyTorch",
        "device": "NVIDIA P102-100", "date": "2020",
        "source": "Measured: forward 0.076 s and backward 0.13089 s per iteration of OMGS-SGD (Shi "
                  "et al., INFOCOM 2020), 16 workers. " + DIVIDED + ARCHITECTURE,
        "batch": 20}, lstm_ptb(), (76 * MS, 130_890 * US), 66_034_000, 11),
    ("bert_base_asc", {
        "model": "BERT-Base without heads", "framework": "PyTorch", "device": "not stated",
        "date": "2021",
        "source": "Measured: compute 0.30548926 s per iteration, " + ASC + ". " + UNSTATED +
                  "Sequences of 128 tokens assumed. " + SPLIT + DIVIDED + ARCHITECTURE},
     bert(12, 768, 128), split(305_489_260_000), 109_482_240, 199),
    ("bert_large_v100", {
        "model": "BERT-Large without heads", "framework": "TensorFlow",
        "device": "NVIDIA V100 32GB", "date": "2019-03",
        "source": "Measured: 7.56 sequences/s on one GPU at batch 7, FP32, repository "
                  "NVIDIA/DeepLearningExamples, BERT of March 2019, DGX-1; the iteration includes "
                  "heads and optimizer. Sequences of 512 tokens assumed. " + SPLIT + DIVIDED +
                  ARCHITECTURE,
        "batch": 7}, bert(24, 1024, 512), split(7 * S * 100 // 756), 335_141_888, 391),
    ("gpt2_124m_a100", {
        "model": "GPT-2 124M", "framework": "PyTorch 2.0", "device": "NVIDIA A100 40GB (assumed)",
        "date": "2022-12",
        "source": "Measured: 135 ms per iteration with torch.compile, README of repository "
                  "karpathy/nanoGPT; the iteration includes the optimizer. Assumed: the device, "
                  "and 8 sequences of 1024 tokens as in its bench.py. " + SPLIT + DIVIDED +
                  ARCHITECTURE,
        "batch": 8}, gpt2(12, 768), split(135 * MS), 124_439_808, 148),
    ("gpt2_1558m_h100", {
        "model": "GPT-2 1.5B", "framework": "llm.c", "device": "NVIDIA H100 80GB",
        "date": "2024-07",
        "source": "Measured: 2.8 s per step of 1,048,576 tokens on 8 GPUs, bfloat16, repository "
                  "karpathy/llm.c, scripts/run_gpt2_1558M.sh; the step is 8 micro-batches of 16 "
                  "sequences of 1024 tokens per GPU and includes communication and optimizer. One "
                  "iteration here is one micro-batch, 0.35 s. " + SPLIT + DIVIDED + ARCHITECTURE,
        "batch": 16, "bytes_per_parameter": 2}, gpt2(48, 1600), split(350 * MS), 1_557_611_200,
     580),
    ("llama_7b_a100", {
        "model": "Llama-7B", "framework": "PyTorch", "device": "NVIDIA A100 80GB",
        "date": "2023-02",
        "source": "Measured: 82,432 GPU hours for 1.0e12 tokens (Touvron et al., arXiv "
                  "2302.13971), 3370 tokens/s per GPU; that includes communication and optimizer. "
                  "Assumed: 2 sequences of 2048 tokens per GPU and iteration, gradients of 2 "
                  "bytes. " + SPLIT + DIVIDED + ARCHITECTURE,
        "batch": 2, "bytes_per_parameter": 2}, llama(),
     split(82_432 * 3600 * S * 4096 // 10**12), 6_738_415_616, 291),
]


def quoted(text):
    return '"' + text.strip() + '"'


def in_us(ps):
    whole, rest = divmod(ps, US)
    return f'"{whole}.{rest:06d}'.rstrip("0").rstrip(".") + ' us"'


def divided(total, weights):
    """Whole parts of `total` in proportion to the weights, which add up to it exactly."""
    parts, before, so_far, whole = [], 0, 0, sum(weights)
    for weight in weights:
        so_far += weight
        parts.append(total * so_far // whole - total * before // whole)
        before = so_far
    return parts


def text_of(name, header, net, times):
    lines = ["{", '  "schema": "sgdsim/trace/1",', f'  "name": {quoted(name)},']
    for key in ("model", "framework", "device", "date", "source"):
        lines.append(f'  "{key}": {quoted(header[key])},')
    lines.append('  "derived": true,')
    for key in ("batch", "bytes_per_parameter"):
        if key in header:
            lines.append(f'  "{key}": {header[key]},')
    lines += ['  "layers": [']
    operations = [layer[2] for layer in net.layers]
    rows = []
    for layer, forward, backward in zip(net.layers, divided(times[0], operations),
                                        divided(times[1], operations)):
        row = f'    {{"name": {quoted(layer[0])}, "parameters": {sum(layer[1])}, '
        row += f'"forward": {in_us(forward)}, "backward": {in_us(backward)}'
        if len(layer[1]) > 1:
            row += f', "tensors": {layer[1]}'
        rows.append(row + "}")
    lines += [",\n".join(rows), "  ],", f'  "notes": [{quoted(NOTE)}]', "}"]
    return "\n".join(lines) + "\n"


def main(arguments):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
    if arguments[:1] == ["--out"] and len(arguments) == 2:
        folder = arguments[1]
    elif arguments:
        sys.exit(__doc__)
    os.makedirs(folder, exist_ok=True)
    for name, header, net, times, parameters, tensors in TRACES:
        counts = [count for layer in net.layers for count in layer[1]]
        assert (sum(counts), len(counts)) == (parameters, tensors), (name, sum(counts), len(counts))
        with open(os.path.join(folder, name + ".json"), "w", encoding="ascii", newline="\n") as out:
            out.write(text_of(name, header, net, times))


if __name__ == "__main__":
    main(sys.argv[1:])
