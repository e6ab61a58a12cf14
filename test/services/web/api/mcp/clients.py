"""Calls automations by two clients of MCP for Python, and writes what they got as JSON."""

import asyncio
import json
import os
from typing import Any

from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult

URL = os.environ["MCP_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
TOOL = "acme-research"
ARGUMENTS = {"topic": "tides"}


async def decide(_context: Any, _params: Any) -> ElicitResult:
    """Decides as the person behind the client."""
    return ElicitResult(action="accept", content={"decision": "edit", "text": "Edited."})


async def call_official(mode: str) -> dict[str, Any]:
    """Lists and calls by the official client, in one era of the protocol."""
    async with create_mcp_http_client(headers=HEADERS) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=decide) as client:
            tools = await client.list_tools()
            result = await client.call_tool(TOOL, ARGUMENTS)
            return {
                "version": str(client.protocol_version),
                "tools": [tool.name for tool in tools.tools],
                "said": result.content[0].text,
                "error": bool(result.is_error),
            }


async def call_fast() -> dict[str, Any]:
    """Lists and calls by FastMCP, with progress."""
    told: list[float] = []

    async def hear(progress: float, _total: float | None, _message: str | None) -> None:
        told.append(progress)

    transport = StreamableHttpTransport(URL, headers=HEADERS)
    async with FastClient(transport) as client:
        tools = await client.list_tools()
        result = await client.call_tool(TOOL, ARGUMENTS, progress_handler=hear)
        return {
            "tools": [tool.name for tool in tools],
            "said": result.content[0].text,
            "told": len(told),
        }


async def main() -> None:
    """Calls by each client in turn."""
    seen = {
        "auto": await call_official("auto"),
        "legacy": await call_official("legacy"),
        "fastmcp": await call_fast(),
    }
    print(json.dumps(seen))


asyncio.run(main())
