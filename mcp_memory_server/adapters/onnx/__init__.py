"""Sentence transformers in ONNX form, run by onnxruntime from a folder."""
