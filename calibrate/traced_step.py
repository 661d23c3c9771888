"""The training step that trace_layers.py records: a model with random data, its loss, precision and
optimizer, and what is refused because its layers have no times of their own.

A model is one of torchvision, one of transformers, or MODULE:FUNCTION of the user. Everything that is
not to be recorded says so in one sentence (BadInput).
"""
import os
import sys


class BadInput(Exception):
    """What is asked for cannot be recorded; the text is a sentence that says why."""


WRAPPERS = {"DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "FSDPModule",
            "DeepSpeedEngine"}


def check_not_distributed(model):
    """Gradients that wait for other processes have no ready time of their own, and parameters that
    are divided among them have not their own size."""
    for name, module in model.named_modules():
        kinds = WRAPPERS & {kind.__name__ for kind in type(module).__mro__}
        if kinds:
            place = f"its part {name}" if name else "it"
            raise BadInput(f"{place} is wrapped in {sorted(kinds)[0]}, and would be recorded with the "
                           "waits for other processes; give the model inside")
    for name, parameter in model.named_parameters():
        if type(parameter).__name__ == "DTensor":
            raise BadInput(f"its parameter {name} is divided among processes; give the whole model")


def is_compiled(module):
    """By torch.compile(module), or by module.compile(), which leaves its type as it is."""
    return (any(kind.__name__ == "OptimizedModule" for kind in type(module).__mro__)
            or getattr(module, "_compiled_call_impl", None) is not None)


def check_not_compiled(model, forward):
    """Compiled kernels span layers, and are one call without hooks inside."""
    if hasattr(forward, "_torchdynamo_orig_callable"):
        raise BadInput("its loss function is compiled by torch.compile, whose kernels span layers; give "
                       "the function before it is compiled, or import a profile of it")
    for name, module in model.named_modules():
        if is_compiled(module):
            place = f"its part {name}" if name else "it"
            raise BadInput(f"{place} is compiled by torch.compile, whose kernels span layers; give the "
                           "model before it is compiled, or import a profile of it")


def own_model_name(text):
    """Module and function of MODULE:FUNCTION; nothing for the name of a known model."""
    module, colon, function = text.partition(":")
    if not colon:
        return None
    words = module.split(".") + [function]
    if not all(word.isidentifier() for word in words):
        raise BadInput(f"expected MODULE:FUNCTION, as my_models:small, got {text}")
    return module, function


# What --optimizer makes, of PyTorch and parameters.
OPTIMIZERS = {"sgd": lambda torch, all_: torch.optim.SGD(all_, lr=1e-3, momentum=0.9),
              "adam": lambda torch, all_: torch.optim.Adam(all_, lr=1e-4),
              "adamw": lambda torch, all_: torch.optim.AdamW(all_, lr=1e-4),
              "adamw-fused": lambda torch, all_: torch.optim.AdamW(all_, lr=1e-4, fused=True)}


def make_update(torch, name, device, parameters):
    """What applies the gradients and drops them, after a first time, at which the optimizer makes its
    state. Some versions of PyTorch say only then that they cannot fuse it."""
    try:
        optimizer = OPTIMIZERS[name](torch, parameters)

        def update():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        update()
        return update
    except (RuntimeError, TypeError) as error:
        if name != "adamw-fused" or "fused" not in str(error):
            raise
        raise BadInput(f"--optimizer adamw-fused: PyTorch {torch.__version__} cannot fuse AdamW on "
                       f"{device.type}: {first_line(error)}") from error

# What --precision is, and the bytes of a gradient under it.
PRECISIONS = {"float32": 4, "tf32": 4, "bfloat16": 4, "pure-bfloat16": 2}


def language_model(torch, name, batch, sequence, device):
    import transformers
    if name == "bert-base":
        model = transformers.BertForMaskedLM(transformers.BertConfig())
    else:
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
    longest = model.config.max_position_embeddings
    if sequence > longest:
        raise BadInput(f"--sequence: expected at most {longest} for {name}, got {sequence}")
    model = model.to(device).train()
    words = torch.randint(0, model.config.vocab_size, (batch, sequence), device=device)
    return model, lambda: model(input_ids=words, labels=words).loss


def own_model(module, function, batch, device):
    import importlib
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), function)
    except AttributeError as error:
        raise BadInput(f"the module {module} has no {function}") from error
    made = make(batch, device)
    if not (isinstance(made, tuple) and len(made) == 2 and hasattr(made[0], "named_modules")
            and callable(made[1])):
        raise BadInput(f"{module}:{function} must return a model and a function that returns the loss "
                       "of a forward pass")
    return made


def image_model(torch, name, batch, device, layout):
    import torchvision
    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        raise BadInput(f"unknown model {name}; known: bert-base, gpt2, {', '.join(known)}")
    model = torchvision.models.get_model(name, weights=None).to(device).train()
    model = model.to(memory_format=layout)
    side = 299 if name == "inception_v3" else 224
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=layout)
    labels = torch.randint(0, 1000, (batch,), device=device)
    loss = torch.nn.CrossEntropyLoss()

    def forward():
        output = model(images)
        if torch.is_tensor(output):
            return loss(output, labels)
        # GoogLeNet and Inception v3: the auxiliary classifiers' losses count for 0.3 each.
        return loss(output[0], labels) + sum(0.3 * loss(o, labels) for o in output[1:])
    return model, forward


def first_line(error):
    return str(error).strip().split("\n")[0]


def make_model(torch, arguments, device):
    """A model, and a function that returns the loss of one forward pass."""
    name = arguments.model
    own = own_model_name(name)
    is_language = name in ("bert-base", "gpt2")
    if arguments.channels_last and (own or is_language):
        raise BadInput("--channels-last is for models of torchvision")
    layout = torch.channels_last if arguments.channels_last else torch.contiguous_format
    try:
        if own:
            return own_model(*own, arguments.batch, device)
        if is_language:
            return language_model(torch, name, arguments.batch, arguments.sequence, device)
        return image_model(torch, name, arguments.batch, device, layout)
    except ImportError as error:
        reason = f"{error.name} is not installed" if error.name else first_line(error)
        raise BadInput(f"{name} cannot be made: {reason}") from error


def enable_checkpointing(model):
    """Models of transformers then keep the activations between their blocks only, and compute the
    others again in the backward pass."""
    refusal = BadInput("--checkpoint: the model has no gradient_checkpointing_enable(), as bert-base and "
                       "gpt2 have it, or does not support it")
    if not callable(getattr(model, "gradient_checkpointing_enable", None)):
        raise refusal
    try:
        model.gradient_checkpointing_enable()
    except ValueError as error:  # some models of transformers have the function alone
        raise refusal from error


def in_precision(torch, precision, device, model, forward):
    """The forward pass in that precision. TF32 is what a GPU multiplies float32 with, if allowed;
    bfloat16 is PyTorch's automatic mixed precision, in which parameters and gradients stay float32."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    if precision in ("float32", "tf32"):
        return forward
    if precision == "pure-bfloat16":
        model.to(torch.bfloat16)

    def forward_in_bfloat16():
        with torch.autocast(device.type, dtype=torch.bfloat16):
            return forward()
    return forward_in_bfloat16
