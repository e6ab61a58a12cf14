"""Calls an agent by the official client for Python, and writes what it got as JSON."""

import asyncio
import json
import os
import urllib.request
import uuid

import httpx
import jwt
from a2a.client import ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
)
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import MessageToDict


def key_of(kid: str, jku: str | None) -> jwt.PyJWK:
    """Reads the public key of a signature."""
    with urllib.request.urlopen(jku or "") as answer:
        keys = json.load(answer)["keys"]
    return next(jwt.PyJWK(key) for key in keys if key["kid"] == kid)


def request(text: str, **configuration: bool) -> SendMessageRequest:
    """Makes a message of a text."""
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(
        message=message, configuration=SendMessageConfiguration(**configuration)
    )


async def call(binding: str, token: str, verify: object) -> dict[str, object]:
    """Walks through the operations by one binding."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])
        client = await create_client(
            os.environ["AGENT"], config, signature_verifier=verify
        )
        card = await client.get_extended_agent_card(
            GetExtendedAgentCardRequest(), signature_verifier=verify
        )
        updates = [MessageToDict(each) async for each in client.send_message(request("tides"))]
        later = request("waves", return_immediately=True)
        config.streaming = False
        other = await create_client(os.environ["AGENT"], config)
        started = [each.task async for each in other.send_message(later)]
        canceled = await other.cancel_task(CancelTaskRequest(id=started[0].id))
        listed = await other.list_tasks(ListTasksRequest(page_size=1))
        try:
            await other.get_task(GetTaskRequest(id=str(uuid.uuid4())))
            error = None
        except TaskNotFoundError as thrown:
            error = type(thrown).__name__
        return {
            "name": card.name,
            "updates": updates,
            "canceled": MessageToDict(canceled)["status"]["state"],
            "listed": [listed.total_size, len(listed.tasks)],
            "error": error,
        }


async def main() -> None:
    """Calls by both bindings, with a token each, and checks the signatures of cards."""
    verify = create_signature_verifier(key_of, ["ES256"])
    tokens = os.environ["TOKENS"].split(",")
    bindings = ["JSONRPC", "HTTP+JSON"]
    calls = zip(bindings, tokens, strict=True)
    print(json.dumps([await call(binding, token, verify) for binding, token in calls]))


asyncio.run(main())
