"""Opens the embedding models and makes search indexes."""

from mcp_memory_server.addresses import BedrockModel, BuiltInModel, ModelFolder, Nowhere, parse_embeddings
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.ports.known_words import KnownWords
from mcp_memory_server.ports.search_index import SearchIndex
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package


async def open_embedders(settings: Settings) -> tuple[Embedder | None, Embedder | None]:
    """Open the coarse and the fine model that the settings name, None where there is none. The caller closes them.

    Raises:
        ConfigurationError: A package is missing, or the model is not there.
    """
    chosen = parse_embeddings(settings.embeddings)
    has_fine = isinstance(chosen, BuiltInModel) and chosen.has_fine
    return await open_coarse_embedder(settings), built_in_fine_embedder() if has_fine else None


async def open_coarse_embedder(settings: Settings) -> Embedder | None:
    """Open the model that embeds every text.

    Raises:
        ConfigurationError: A package is missing, or the model is not there.
    """
    match parse_embeddings(settings.embeddings):
        case BuiltInModel():
            return built_in_embedder()
        case ModelFolder() as folder:
            return await _open_folder(folder)
        case BedrockModel(model_id, region, endpoint, dimensions):
            try:
                from mcp_memory_server.adapters.bedrock.embedder import open_bedrock
            except ModuleNotFoundError as error:
                raise missing_package("bedrock", error) from error
            return open_bedrock(model_id, region=region, endpoint=endpoint, dimensions=dimensions)
        case Nowhere():
            return None


def built_in_embedder() -> Embedder:
    """Return the model that ships with the package. It is loaded when it is first used."""
    from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder

    return BuiltInEmbedder()


def built_in_fine_embedder() -> Embedder:
    """Return the better model that ships with the package. It is loaded when it is first used."""
    from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder

    return MultilingualE5Embedder()


def built_in_word_vectors(fine: Embedder | None) -> KnownWords | None:
    """Return the vectors of single words that belong to the fine model, None if it is another one or there is none."""
    if fine is None:
        return None
    # Imported here: it loads numpy.
    from mcp_memory_server.adapters.multilingual_e5.embedder import MODEL

    if fine.model != MODEL:
        return None
    from mcp_memory_server.adapters.multilingual_e5.word_vectors import WordVectors

    return WordVectors()


def new_search_index() -> SearchIndex:
    """Return an empty index."""
    # Imported here: it loads numpy, which a client that only remembers facts does not need.
    from mcp_memory_server.adapters.built_in.search.search_index import BuiltInSearchIndex
    from mcp_memory_server.adapters.built_in.search.stemmer import stem

    return BuiltInSearchIndex(stem)


async def _open_folder(folder: ModelFolder) -> Embedder:
    try:
        if folder.library == "onnx":
            from mcp_memory_server.adapters.model_folders.onnx import open_onnx

            return await open_onnx(folder.path)
        from mcp_memory_server.adapters.model_folders.model2vec import open_model2vec

        return await open_model2vec(folder.path)
    except ModuleNotFoundError as error:
        raise missing_package(folder.library, error) from error
