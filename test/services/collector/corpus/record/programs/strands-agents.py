# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "strands-agents[openai]==1.62.0",
#     "opentelemetry-exporter-otlp-proto-http==1.45.1",
# ]
# ///
"""Strands Agents with its default conventions: an agent with a tool."""

from _shared import MODEL, QUESTION, SYSTEM, provider
from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def get_weather(city: str) -> str:
    """The weather."""
    return "18 degrees, sunny"


traces = provider()
agent = Agent(
    model=OpenAIModel(model_id=MODEL), tools=[get_weather], system_prompt=SYSTEM,
    name="weather_agent", callback_handler=None,
    trace_attributes={"session.id": "session-1", "user.id": "user-1"},
)
agent(QUESTION)
traces.shutdown()
