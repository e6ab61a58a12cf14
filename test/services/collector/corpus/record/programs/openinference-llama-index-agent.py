# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "llama-index-core==0.14.25",
#     "llama-index-llms-openai==0.8.3",
#     "openinference-instrumentation-llama-index==4.6.1",
#     "opentelemetry-sdk==1.45.2",
#     "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference, LlamaIndex: an agent with a tool."""

import asyncio

from _shared import QUESTION, SYSTEM, provider

traces = provider()

from llama_index.core.agent.workflow import FunctionAgent  # noqa: E402
from llama_index.llms.openai import OpenAI  # noqa: E402
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor  # noqa: E402

LlamaIndexInstrumentor().instrument(tracer_provider=traces)


def get_weather(city: str) -> str:
    """The weather."""
    return "18 degrees, sunny"


async def main():
    model = OpenAI(model="gpt-4.1-mini")
    agent = FunctionAgent(
        tools=[get_weather], llm=model, system_prompt=SYSTEM, name="weather_agent", streaming=False
    )
    await agent.run(user_msg=QUESTION)


asyncio.run(main())
traces.shutdown()
