# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "langchain==1.5.2",
#     "langchain-openai==1.7.4",
#     "langgraph==1.2.24",
#     "opentelemetry-instrumentation-langchain==0.62.4",
#     "opentelemetry-instrumentation-openai==0.62.4",
#     "opentelemetry-sdk==1.45.2",
#     "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenLLMetry, LangGraph over the responses API, whose client it follows, too."""

from _shared import MODEL, QUESTION, SYSTEM, provider
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langchain_core.tools import tool
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor


@tool
def get_weather(city: str) -> str:
    """The weather."""
    return "18 degrees, sunny"


traces = provider()
LangchainInstrumentor().instrument()
OpenAIInstrumentor().instrument()
model = ChatOpenAI(model=MODEL, use_responses_api=True)
agent = create_agent(model, [get_weather], system_prompt=SYSTEM, name="weather_agent")
agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
traces.shutdown()
