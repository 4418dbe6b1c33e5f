"""The layers of the transformer in onnxruntime, which multiplies four-bit weights without unpacking them."""

from collections.abc import Iterator

import numpy as np
from onnxruntime import InferenceSession, SessionOptions  # pyright: ignore[reportAttributeAccessIssue]

from mcp_memory_server.adapters.multilingual_e5.onnx_graph import Message, constant, floats, graph, model, node
from mcp_memory_server.adapters.multilingual_e5.weights import (
    BLOCK,
    EPSILON,
    HEADS,
    LAYERS,
    WIDTH,
    Floats,
    Weights,
)

_MICROSOFT = "com.microsoft"
_LINEAR = ("attention_in", "attention_out", "expand", "shrink")
_NORMS = ("attention_norm", "output_norm")
_LAYERS_AT_ONCE = 3
"""Layers computed before more urgent work may run. Fewer at a time would be slower in total."""
_ACCURACY = 4
"""Products are computed with 8-bit integers, which is several times as fast as with floats; 0 would be floats."""


def onnx_stages(weights: Weights) -> "list[Layers]":
    """Return all layers, a few at a time."""
    return [Layers(weights, range(first, first + _LAYERS_AT_ONCE)) for first in range(0, LAYERS, _LAYERS_AT_ONCE)]


class Layers:
    """Some layers of the transformer. They may be used from several threads."""

    def __init__(self, weights: Weights, layers: range) -> None:
        self._session = InferenceSession(network(weights, layers), _options(), providers=["CPUExecutionProvider"])
        self._given = _states(layers.start)

    def run(self, states: Floats) -> Floats:
        """Return the state of each token after these layers."""
        (result,) = self._session.run(None, {self._given: states[np.newaxis]})
        return np.asarray(result, np.float32)[0]


def network(weights: Weights, layers: range) -> Message:
    """Return the layers as an ONNX model, from the states before the first to those after the last."""
    nodes = [node for layer in layers for node in _nodes(weights, layer)]
    constants = [constant for layer in layers for constant in _constants(weights, layer)]
    given, result = (floats(_states(layer), 1, "tokens", WIDTH) for layer in (layers.start, layers.stop))
    return model(graph(nodes, constants, given, result))


def _states(layer: int) -> str:
    """Return the name of the input of a layer."""
    return f"states{layer}"


def _nodes(weights: Weights, layer: int) -> Iterator[Message]:
    def own(*names: str) -> list[str]:
        return [f"{name}{layer}" for name in names]

    def linear(name: str, given: str, result: str) -> Message:
        rows, columns = weights[f"{name}.bias"].shape[1], weights[f"{name}.scales"].shape[2] * BLOCK
        inputs = [given, *own(f"{name}.levels", f"{name}.scales")]
        sizes = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK, "accuracy_level": _ACCURACY}
        return node("MatMulNBits", inputs, [result], _MICROSOFT, **sizes)

    def add_and_normalise(name: str, bias: str, one: str, other: str, result: str) -> Message:
        inputs = [one, other, *own(f"{name}.weight", f"{name}.bias", f"{bias}.bias")]
        return node("SkipLayerNormalization", inputs, [result], _MICROSOFT, epsilon=EPSILON)

    before, after = _states(layer), _states(layer + 1)
    mixed, *parts = own("mixed", "queries", "keys", "values")
    attended, projected, between, expanded, active, shrunk = own(
        "attended", "projected", "between", "expanded", "active", "shrunk"
    )
    yield linear("attention_in", before, mixed)
    yield node("Split", [mixed], parts, axis=2)
    yield node("MultiHeadAttention", [*parts, *own("attention_in.bias")], [attended], _MICROSOFT, num_heads=HEADS)
    yield linear("attention_out", attended, projected)
    yield add_and_normalise("attention_norm", "attention_out", projected, before, between)
    yield linear("expand", between, expanded)
    yield node("BiasGelu", [expanded, *own("expand.bias")], [active], _MICROSOFT)
    yield linear("shrink", active, shrunk)
    yield add_and_normalise("output_norm", "shrink", shrunk, between, after)


def _constants(weights: Weights, layer: int) -> Iterator[Message]:
    for name in _LINEAR:
        levels, scales = (array[layer] for array in weights.quantised(name))
        yield constant(f"{name}.levels{layer}", levels.reshape(*scales.shape, BLOCK // 2))
        yield constant(f"{name}.scales{layer}", scales.astype(np.float32).ravel())
        yield constant(f"{name}.bias{layer}", weights[f"{name}.bias"][layer])
    for name in _NORMS:
        yield constant(f"{name}.weight{layer}", weights[f"{name}.weight"][layer])
        yield constant(f"{name}.bias{layer}", weights[f"{name}.bias"][layer])


def _options() -> SessionOptions:
    options = SessionOptions()
    # More threads would spin while they wait for work, at the expense of the server.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return options
