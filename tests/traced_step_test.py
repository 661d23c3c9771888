"""Tests of calibrate/traced_step.py, without PyTorch: what is refused, and what options make."""
import argparse
import functools
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "calibrate"))
import traced_step  # noqa: E402


class Fake:
    """A model of modules and parameters by name, without PyTorch."""

    def __init__(self, modules=(), parameters=()):
        self.parts, self.weights = modules, parameters

    def named_modules(self):
        return [("", self), *self.parts]

    def modules(self):
        return [module for _, module in self.named_modules()]

    def named_parameters(self):
        return self.weights

    def parameters(self, recurse):
        return []


class Steps(unittest.TestCase):
    def refusal(self, *words, check=traced_step.check_not_distributed):
        with self.assertRaises(traced_step.BadInput) as refused:
            check(*words)
        return str(refused.exception)

    def test_wrapped_models_are_refused(self):
        traced_step.check_not_distributed(Fake())
        wrapped = type("DistributedDataParallel", (Fake,), {})
        self.assertIn("it is wrapped in DistributedDataParallel", self.refusal(wrapped()))
        sharded = type("FSDPLinear", (type("FSDPModule", (Fake,), {}),), {})
        self.assertIn("its part head is wrapped in FSDPModule",
                      self.refusal(Fake(modules=[("head", sharded())])))
        divided = type("DTensor", (), {})
        self.assertIn("its parameter weight is divided",
                      self.refusal(Fake(parameters=[("weight", divided())])))

    def test_compiled_models_are_refused(self):
        check = traced_step.check_not_compiled
        plain = lambda: None
        check(Fake(), plain)
        compiled = type("OptimizedModule", (Fake,), {})
        in_place = Fake()
        in_place._compiled_call_impl = plain
        for model, place in ((compiled(), "it is compiled"), (in_place, "it is compiled"),
                             (Fake(modules=[("body", compiled())]), "its part body is compiled")):
            self.assertIn(place, self.refusal(model, plain, check=check))
        loss = lambda: None
        loss._torchdynamo_orig_callable = plain
        self.assertIn("its loss function is compiled", self.refusal(Fake(), loss, check=check))

    def test_checkpointing_is_enabled_or_refused(self):
        class Able(Fake):
            enabled = 0

            def gradient_checkpointing_enable(self):
                self.enabled += 1

        class Unable(Fake):
            def gradient_checkpointing_enable(self):
                raise ValueError("Unable does not support gradient checkpointing.")
        model = Able()
        traced_step.enable_checkpointing(model)
        self.assertEqual(model.enabled, 1)
        for model in (Fake(), Unable()):
            self.assertIn("--checkpoint: the model has no",
                          self.refusal(model, check=traced_step.enable_checkpointing))

    def test_optimizers(self):
        class Optim:
            def __getattr__(self, name):
                return lambda parameters, **settings: (name, parameters, sorted(settings))
        torch = argparse.Namespace(optim=Optim())
        made = {name: make(torch, [1]) for name, make in traced_step.OPTIMIZERS.items()}
        self.assertEqual(made, {"sgd": ("SGD", [1], ["lr", "momentum"]), "adam": ("Adam", [1], ["lr"]),
                                "adamw": ("AdamW", [1], ["lr"]),
                                "adamw-fused": ("AdamW", [1], ["fused", "lr"])})

    # The optimizer says so when it is made, or at its first step.
    def test_an_optimizer_that_cannot_be_fused_is_refused(self):
        class Optimizer:
            def __init__(self, parameters, fails_at, error, **_settings):
                self.error = error
                if fails_at == "made":
                    raise error

            def step(self):
                raise self.error
        device = argparse.Namespace(type="cpu")
        for fails_at, error, sentence in (
                ("made", TypeError("unexpected keyword argument 'fused'"), "cannot fuse AdamW on cpu"),
                ("step", RuntimeError("`fused=True` requires CUDA"), "cannot fuse AdamW on cpu"),
                ("step", RuntimeError("no memory"), None)):
            make = functools.partial(Optimizer, fails_at=fails_at, error=error)
            torch = argparse.Namespace(optim=argparse.Namespace(AdamW=make), __version__="1")
            words = (torch, "adamw-fused", device, [])
            if sentence:
                self.assertIn(sentence, self.refusal(*words, check=traced_step.make_update))
                continue
            with self.assertRaisesRegex(RuntimeError, "no memory"):
                traced_step.make_update(*words)

    def test_names_of_own_models(self):
        self.assertIsNone(traced_step.own_model_name("resnet50"))
        self.assertEqual(traced_step.own_model_name("a.b:c"), ("a.b", "c"))
        for name in (":c", "a:", "a:b:c", "a b:c", "../a:b"):
            with self.assertRaises(traced_step.BadInput):
                traced_step.own_model_name(name)


if __name__ == "__main__":
    unittest.main()
