from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

traces = TracerProvider()
traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
CrewAIInstrumentor().instrument(tracer_provider=traces)
OpenAIInstrumentor().instrument(tracer_provider=traces)

from crewai import Agent, Crew, Task

meteorologist = Agent(
    role="Meteorologist",
    goal="Know the weather",
    backstory="You look at the sky.",
    llm="openai/gpt-5-mini",
)
warmth = Task(
    name="warmth",
    description="How warm is it in {city}?",
    expected_output="One sentence",
    agent=meteorologist,
)
crew = Crew(name="weather", agents=[meteorologist], tasks=[warmth])
print(crew.kickoff(inputs={"city": "Paris"}))
