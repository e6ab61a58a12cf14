using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Trace;

var source = new ActivitySource("weather");
using var provider = Sdk.CreateTracerProviderBuilder()
    .AddSource("weather")
    .AddOtlpExporter()
    .Build();

using (var span = source.StartActivity("chat gpt-5-mini", ActivityKind.Client))
{
    span?.SetTag("gen_ai.operation.name", "chat");
    span?.SetTag("gen_ai.provider.name", "openai");
    span?.SetTag("gen_ai.request.model", "gpt-5-mini");
    span?.SetTag("gen_ai.input.messages",
        """[{"role":"user","parts":[{"type":"text","content":"How warm is it in Paris?"}]}]""");
    // Here the model is called.
    span?.SetTag("gen_ai.output.messages",
        """[{"role":"assistant","parts":[{"type":"text","content":"It is 18 degrees."}]}]""");
    span?.SetTag("gen_ai.usage.input_tokens", 120);
    span?.SetTag("gen_ai.usage.output_tokens", 40);
}
