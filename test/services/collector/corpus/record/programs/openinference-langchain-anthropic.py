# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "langchain==1.5.2",
#     "langchain-anthropic==1.7.10",
#     "langgraph==1.2.24",
#     "anthropic==2.14.0",
#     "openinference-instrumentation-langchain==0.1.80",
#     "opentelemetry-sdk==1.45.2",
#     "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference, LangChain over Anthropic's client, which makes spans of its own, too."""

from _shared import QUESTION, SYSTEM, provider
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from openinference.instrumentation.langchain import LangChainInstrumentor


@tool
def get_weather(city: str) -> str:
    """The weather."""
    return "18 degrees, sunny"


traces = provider()
LangChainInstrumentor().instrument()
model = ChatAnthropic(model="claude-sonnet-4-5")
agent = create_agent(model, [get_weather], system_prompt=SYSTEM, name="weather_agent")
agent.invoke(
    {"messages": [{"role": "user", "content": QUESTION}]},
    {"metadata": {"session_id": "session-1"}},
)
traces.shutdown()
