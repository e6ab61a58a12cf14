# /// script
# requires-python = "==3.12.*"
# dependencies = [
#     "logfire==5.2.0",
#     "openai==3.57.0",
#     "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""logfire, OpenAI's client: the usual two calls, a streamed one, the responses API, embeddings."""

import logfire
from _shared import MODEL, QUESTION, chat_with_tools, embed, stream
from openai import OpenAI

# It exports to OTEL_EXPORTER_OTLP_ENDPOINT by itself.
logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False)
client = OpenAI()
logfire.instrument_openai(client)
with logfire.span("weather of {city}", city="Paris"):
    chat_with_tools(client)
    stream(client)
    client.responses.create(model=MODEL, input=QUESTION)
    embed(client)
logfire.shutdown()
