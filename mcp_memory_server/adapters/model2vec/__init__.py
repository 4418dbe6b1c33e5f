"""Static models that the model2vec package loads from a folder."""
