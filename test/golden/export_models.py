#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the folders beside this file: tiny members of model families, exported by PyTorch's own exporters, with
PyTorch's losses and gradient norms.

usage: export_models.py OUT FAMILY [--spellings dynamo,dynamo_dyn,...] [--fresh]

Needs torch, transformers, onnx, onnxscript and safetensors. The folders `gpt2`, `llama`, `bert`, `vit` and their `_fresh` twins were made with
torch 2.15 and transformers 5.24, the `_torchscript` ones with torch 2.2 and transformers 4.40 (spellings torchscript,
torchscript14, torchscript_loss, torchscript_nofold). `--fresh` exports the model as initialised; otherwise every 1-D
parameter is first moved by noise, as training would: exporters merge equal parameters and delete zero ones.
"""
import argparse
import collections
import copy
import json
import os

import onnx
import torch
import transformers
from safetensors.torch import save_file

VOCABULARY, HIDDEN, LAYERS, HEADS, FFN, POSITIONS = 96, 32, 2, 4, 64, 64
ROWS, SEQUENCE, STEPS = 4, 12, 6
IMAGE, CLASSES = 16, 10
ADAMW = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)


def make_gpt2(attention):
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_positions=POSITIONS,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2)
    return build(transformers.GPT2LMHeadModel, config, attention)


def make_llama(attention):
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=2, intermediate_size=FFN, max_position_embeddings=POSITIONS, pad_token_id=None,
        bos_token_id=1, eos_token_id=2)
    return build(transformers.LlamaForCausalLM, config, attention)


def build(model_class, config, attention):
    config._attn_implementation = attention
    config.use_cache = False
    torch.manual_seed(1)
    return model_class(config).float()


def make_bert(attention):
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=FFN, max_position_embeddings=POSITIONS, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    return build(transformers.BertForMaskedLM, config, attention)


def make_vit(attention):
    config = transformers.ViTConfig(
        hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FFN,
        image_size=IMAGE, patch_size=4, num_labels=CLASSES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return build(transformers.ViTForImageClassification, config, attention)


FAMILIES = {"gpt2": make_gpt2, "llama": make_llama, "bert": make_bert, "vit": make_vit}
INPUTS = {"gpt2": ["input_ids"], "llama": ["input_ids"], "bert": ["input_ids", "attention_mask"],
          "vit": ["pixel_values"]}


class Logits(torch.nn.Module):
    def __init__(self, model, family):
        super().__init__()
        self.m = model
        self.family = family

    def forward(self, *inputs):
        named = dict(zip(INPUTS[self.family], inputs))
        if self.family in ("gpt2", "llama"):
            named["use_cache"] = False
        return self.m(**named).logits


class Loss(torch.nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.w = logits

    def forward(self, *inputs):
        scores, labels = self.w(*inputs[:-1]), inputs[-1]
        return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]).float(), labels.reshape(-1),
                                                 ignore_index=-100)


def sample(family, rows, generator):
    """The inputs of one batch, then its labels."""
    if family == "vit":
        return [torch.randn(rows, 3, IMAGE, IMAGE, generator=generator),
                torch.randint(0, CLASSES, (rows,), generator=generator)]
    if family == "bert":
        tokens = torch.randint(3, VOCABULARY, (rows, SEQUENCE), generator=generator)
        mask, labels = torch.ones(rows, SEQUENCE, dtype=torch.int64), tokens.clone()
        mask[1, 9:] = 0
        labels[torch.rand(rows, SEQUENCE, generator=generator) < 0.5] = -100
        labels[0, 0] = tokens[0, 0]
        return [tokens, mask, labels]
    tokens = torch.randint(3, VOCABULARY, (rows, SEQUENCE + 1), generator=generator)
    return [tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()]


def perturb(model):
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1 or parameter.std() == 0:
                parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))


def gradient_norm(parameters):
    return torch.sqrt(sum((p.grad.double() ** 2).sum() for p in parameters if p.grad is not None)).item()


def train(family, model, rows):
    """Batches, loss and global gradient norm before each update, and the first step's norm of each parameter."""
    loss = Loss(Logits(copy.deepcopy(model), family))
    optimizer = torch.optim.AdamW(loss.parameters(), **ADAMW)
    generator = torch.Generator().manual_seed(11)
    batches, steps, first = {}, [], None
    for step in range(STEPS):
        batch = sample(family, rows, generator)
        for name, tensor in zip(INPUTS[family] + ["labels"], batch):
            batches["%d.%s" % (step, name)] = tensor
        optimizer.zero_grad()
        value = loss(*batch)
        value.backward()
        if first is None:
            first = {name.removeprefix("w.m."): parameter.grad.double().norm().item()
                     for name, parameter in loss.named_parameters() if parameter.grad is not None}
        steps.append(dict(loss=value.item(), grad_norm=gradient_norm(list(loss.parameters()))))
        optimizer.step()
    return batches, steps, first


def export(family, model, attention, spelling, path):
    batch = sample(family, ROWS, torch.Generator().manual_seed(7))
    module, arguments, names, output = Logits(model, family), batch[:-1], list(INPUTS[family]), "logits"
    if spelling.endswith("_loss"):
        module, arguments, names, output = Loss(module), batch, names + ["labels"], "loss"
    if spelling.startswith("torchscript"):
        axes = {name: {0: "batch"} if family == "vit" else {0: "batch", 1: "sequence"} for name in names}
        torch.onnx.export(module, tuple(arguments), path, input_names=names, output_names=[output],
                          opset_version=14 if spelling.endswith("14") else 17, dynamic_axes=axes,
                          do_constant_folding=not spelling.endswith("_nofold"))
        return
    shapes = None
    if spelling in ("dynamo_dyn", "dynamo_raw"):
        dynamic = torch.export.Dim.DYNAMIC
        dims = [{0: dynamic, 1: dynamic} if tensor.dim() == 2 else {0: dynamic} for tensor in arguments]
        shapes = (tuple(dims),)  # one variadic argument
    opset = 23 if attention == "sdpa" and spelling == "dynamo" else None
    torch.onnx.export(module, tuple(arguments), path, input_names=names, output_names=[output], dynamo=True,
                      dynamic_shapes=shapes, opset_version=opset, external_data=False, verbose=False,
                      optimize=spelling != "dynamo_raw")


def describe(path):
    model = onnx.load(path)
    inputs = []
    for value in model.graph.input:
        dims = [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]
        inputs.append("%s%s" % (value.name, dims))
    return collections.OrderedDict(
        file=os.path.basename(path), opset={o.domain: o.version for o in model.opset_import}, ir=model.ir_version,
        nodes=len(model.graph.node), functions=len(model.functions), inputs=inputs,
        outputs=[value.name for value in model.graph.output], ops=sorted({node.op_type for node in model.graph.node}))


def write_specs(folder):
    optimizer = dict(kind="adamw", lr=ADAMW["lr"], betas=list(ADAMW["betas"]), eps=ADAMW["eps"],
                     weight_decay=ADAMW["weight_decay"], no_decay=[])
    cross_entropy = dict(kind="cross_entropy", logits="logits", labels="labels", ignore_index=-100)
    for name, loss in (("train", cross_entropy), ("train_loss_in_graph", dict(from_output="loss"))):
        write_json(folder, name, dict(loss=loss, optimizer=optimizer, precision=dict(compute="f32")))


def write_json(folder, name, value):
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("--spellings", default="dynamo,dynamo_dyn,dynamo_loss,dynamo_raw")
    parser.add_argument("--attention", default="eager,sdpa")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    make = FAMILIES[options.family]
    family, model = options.family, make("eager")
    if not options.fresh:
        perturb(model)
    model.eval()
    folder = options.out
    os.makedirs(folder, exist_ok=True)
    batches, steps, first = train(family, model, ROWS)
    batches16, steps16, _ = train(family, model, 4 * ROWS)
    save_file(batches, os.path.join(folder, "batches.safetensors"))
    save_file(batches16, os.path.join(folder, "batches16.safetensors"))
    with torch.no_grad():
        first_inputs = [batches["0." + name] for name in INPUTS[family]]
        save_file({"logits": Logits(model, family)(*first_inputs).contiguous()},
                  os.path.join(folder, "logits.safetensors"))
    write_json(folder, "golden", dict(family=family, steps=steps, first_step_grad_norms=first,
                                      parameters=sum(p.numel() for p in model.parameters())))
    write_json(folder, "golden16", dict(rows=4 * ROWS, steps=steps16))
    write_specs(folder)
    exports = []
    for attention in options.attention.split(","):
        twin = make(attention).eval()
        twin.load_state_dict(model.state_dict())
        for spelling in options.spellings.split(","):
            path = os.path.join(folder, "%s_%s.onnx" % (attention, spelling))
            export(family, twin, attention, spelling, path)
            exports.append(describe(path))
            print(path, exports[-1]["nodes"], "nodes")
    write_json(folder, "exports", exports)


if __name__ == "__main__":
    main()
