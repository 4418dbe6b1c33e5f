# The HTTP server for many users: docker build --tag mcp-agent-memory .
# docker run --publish 8765:8765 --volume memory:/data --env MCP_MEMORY_AUTH=… --env MCP_MEMORY_HOSTS=memory.example mcp-agent-memory
FROM python:3.13-slim AS build
WORKDIR /source
COPY requirements-run.lock pyproject.toml README.md LICENSE ./
COPY mcp_memory_server ./mcp_memory_server
COPY agent_plugins ./agent_plugins
RUN python -m venv /program \
    && /program/bin/pip install --no-cache-dir --require-hashes --requirement requirements-run.lock \
    && /program/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /program/bin/pip uninstall --yes hatchling editables pip

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home memory && install --directory --owner memory --mode 700 /data
COPY --from=build /program /program
USER 10001
ENV PATH=/program/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    MCP_MEMORY_TABLE=sqlite:///data/memory.db \
    XDG_DATA_HOME=/data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=2)"]
ENTRYPOINT ["mcp-memory-server"]
CMD ["serve", "--http", "--host", "0.0.0.0"]
