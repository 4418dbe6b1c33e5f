"""The layers of the transformer in numpy."""

from dataclasses import dataclass

import numpy as np

from mcp_memory_server.adapters.multilingual_e5.blas_threads import one_blas_thread
from mcp_memory_server.adapters.multilingual_e5.weights import (
    EPSILON,
    HEADS,
    LAYERS,
    WIDTH,
    Floats,
    Weights,
    dequantise,
)

_HEAD_WIDTH = WIDTH // HEADS


def numpy_stages(weights: Weights) -> "list[Layer]":
    """Return the layers. Their weights take 85 MB as floats."""
    return [Layer.read(weights, number) for number in range(LAYERS)]


@dataclass(frozen=True)
class _Linear:
    weight: Floats
    """One row for each output."""
    bias: Floats

    def run(self, states: Floats) -> Floats:
        result = states @ self.weight.T
        result += self.bias
        return result

    @classmethod
    def read(cls, weights: Weights, name: str, layer: int) -> "_Linear":
        levels, scales = weights.quantised(name)
        return cls(dequantise(levels[layer], scales[layer]), weights[f"{name}.bias"][layer])


@dataclass(frozen=True)
class Normalisation:
    """Layer normalisation with its learned weights."""

    weight: Floats
    bias: Floats

    def run(self, states: Floats) -> Floats:
        """Return the states with mean 0 and variance 1, weighted."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, np.newaxis] / np.float32(states.shape[-1])
        centred /= np.sqrt(variance + np.float32(EPSILON))
        centred *= self.weight
        centred += self.bias
        return centred


@dataclass(frozen=True)
class Layer:
    """A layer of the transformer. It may be used from several threads."""

    attention_in: _Linear
    """Queries, keys and values, side by side."""
    attention_out: _Linear
    attention_norm: Normalisation
    expand: _Linear
    shrink: _Linear
    output_norm: Normalisation

    def run(self, states: Floats) -> Floats:
        """Return the state of each token after this layer."""
        with one_blas_thread():
            attended = self.attention_out.run(_attend(self.attention_in.run(states)))
            attended += states
            states = self.attention_norm.run(attended)
            expanded = self.shrink.run(gelu(self.expand.run(states)))
            expanded += states
            return self.output_norm.run(expanded)

    @classmethod
    def read(cls, weights: Weights, layer: int) -> "Layer":
        """Return the layer with this index."""

        def norm(name: str) -> Normalisation:
            return Normalisation(weights[f"{name}.weight"][layer], weights[f"{name}.bias"][layer])

        return cls(
            attention_in=_Linear.read(weights, "attention_in", layer),
            attention_out=_Linear.read(weights, "attention_out", layer),
            attention_norm=norm("attention_norm"),
            expand=_Linear.read(weights, "expand", layer),
            shrink=_Linear.read(weights, "shrink", layer),
            output_norm=norm("output_norm"),
        )


def _attend(mixed: Floats) -> Floats:
    """Return the attention of each token, given the queries, keys and values of all."""
    tokens = len(mixed)
    queries, keys, values = mixed.reshape(tokens, 3, HEADS, _HEAD_WIDTH).transpose(1, 2, 0, 3)
    attention = queries @ keys.transpose(0, 2, 1)
    attention *= np.float32(_HEAD_WIDTH**-0.5)
    attention -= attention.max(axis=-1, keepdims=True)
    np.exp(attention, out=attention)
    attention /= attention.sum(axis=-1, keepdims=True)
    return (attention @ values).transpose(1, 0, 2).reshape(tokens, WIDTH)


def gelu(x: Floats) -> Floats:
    """Return ``x * Phi(x)``, with the error function of Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    distance = np.abs(x)
    distance *= np.float32(0.5**0.5)
    t = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * distance)
    polynomial = np.float32(1.061405429) * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        polynomial += np.float32(coefficient)
        polynomial *= t
    distance *= distance
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)
    # ``x * Phi(x)`` is ``max(x, 0) - |x| / 2 * erfc``.
    polynomial *= distance
    polynomial *= np.abs(x)
    polynomial *= np.float32(0.5)
    return np.maximum(x, np.float32(0)) - polynomial
