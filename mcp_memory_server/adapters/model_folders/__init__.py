"""Models in folders of this machine: static ones of model2vec, and sentence transformers in ONNX form."""
