"""The service: the engine over HTTP (REST, OpenAI-style embeddings, MCP). Only this package knows FastAPI."""
