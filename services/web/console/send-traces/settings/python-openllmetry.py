import os

from openai import OpenAI
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow

# Without these two it would send to its makers' service.
Traceloop.init(
    app_name=os.environ["OTEL_SERVICE_NAME"],
    api_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    headers=os.environ["OTEL_EXPORTER_OTLP_HEADERS"],
)


@workflow(name="weather")
def ask(question):
    answer = OpenAI().chat.completions.create(
        model="gpt-5-mini",
        messages=[
            {"role": "system", "content": "You answer in one sentence."},
            {"role": "user", "content": question},
        ],
    )
    return answer.choices[0].message.content


print(ask("How warm is it in Paris?"))
