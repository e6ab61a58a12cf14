# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "logfire==5.2.0",
#     "openai==3.57.0",
#     "openai-agents==0.24.0",
#     "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""logfire, OpenAI Agents: an agent with a tool, over the chat API and over the responses API."""

import asyncio
import os

import logfire
from agents import Agent, ModelSettings, Runner, function_tool
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from _shared import MODEL, QUESTION, SYSTEM
from openai import AsyncOpenAI

# It exports to OTEL_EXPORTER_OTLP_ENDPOINT by itself.
logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False)
logfire.instrument_openai_agents()


@function_tool
def get_weather(city: str) -> str:
    """The weather."""
    return "18 degrees, sunny"


def agent(model):
    return Agent(name="weather_agent", instructions=SYSTEM, tools=[get_weather], model=model)


async def main():
    client = AsyncOpenAI()
    await Runner.run(agent(OpenAIChatCompletionsModel(MODEL, client)), QUESTION)
    await Runner.run(agent(OpenAIResponsesModel(MODEL, client)), QUESTION)


asyncio.run(main())
logfire.shutdown()
