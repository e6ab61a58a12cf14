from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

traces = TracerProvider()
traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=traces)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return "18 degrees, sunny"


agent = create_agent(
    ChatOpenAI(model="gpt-5-mini"),
    [get_weather],
    system_prompt="You answer in one sentence.",
    name="weather_agent",
)
answer = agent.invoke({"messages": [{"role": "user", "content": "How warm is it in Paris?"}]})
print(answer["messages"][-1].content)
