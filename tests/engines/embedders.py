"""An embedder of each technology, ready for use."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from mcp_memory_server.adapters.bedrock.embedder import open_bedrock
from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.model_folders.model2vec import open_model2vec
from mcp_memory_server.adapters.model_folders.onnx import open_onnx
from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder
from mcp_memory_server.ports.embedder import Embedder
from tests.engines.bedrock import COHERE, COHERE_4, TITAN, bedrock_service
from tests.engines.small_models import model2vec_folder, onnx_folder

PATIENCE = timedelta(seconds=30)

Opening = Callable[[Path], AbstractAsyncContextManager[Embedder]]


@asynccontextmanager
async def built_in(folder: Path) -> AsyncIterator[Embedder]:
    yield BuiltInEmbedder()


def multilingual_e5(*, use_onnxruntime: bool) -> Opening:
    @asynccontextmanager
    async def opening(folder: Path) -> AsyncIterator[Embedder]:
        embedder = MultilingualE5Embedder(use_onnxruntime)
        yield embedder
        await embedder.close()

    return opening


@asynccontextmanager
async def model2vec(folder: Path) -> AsyncIterator[Embedder]:
    embedder = await open_model2vec(model2vec_folder(folder / "model"))
    yield embedder
    await embedder.close()


@asynccontextmanager
async def onnx(folder: Path) -> AsyncIterator[Embedder]:
    embedder = await open_onnx(onnx_folder(folder / "model"))
    yield embedder
    await embedder.close()


def bedrock(model_id: str) -> Opening:
    @asynccontextmanager
    async def opening(folder: Path) -> AsyncIterator[Embedder]:
        with bedrock_service() as service:
            embedder = open_bedrock(model_id, endpoint=service.endpoint, deadline=PATIENCE)
            yield embedder
            await embedder.close()

    return opening


EMBEDDERS: dict[str, Opening] = {
    "built-in": built_in,
    "multilingual-e5-numpy": multilingual_e5(use_onnxruntime=False),
    "multilingual-e5-onnxruntime": multilingual_e5(use_onnxruntime=True),
    "model2vec": model2vec,
    "onnx": onnx,
    "titan": bedrock(TITAN),
    "cohere": bedrock(COHERE),
    "cohere-4": bedrock(COHERE_4),
}
