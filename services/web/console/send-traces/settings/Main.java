import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;

public class Main {
  public static void main(String[] arguments) {
    var sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    Span span = sdk.getTracer("weather").spanBuilder("chat gpt-5-mini")
        .setSpanKind(SpanKind.CLIENT)
        .setAttribute("gen_ai.operation.name", "chat")
        .setAttribute("gen_ai.provider.name", "openai")
        .setAttribute("gen_ai.request.model", "gpt-5-mini")
        .setAttribute("gen_ai.input.messages",
            "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"How warm is it in Paris?\"}]}]")
        .startSpan();
    // Here the model is called.
    span.setAttribute("gen_ai.output.messages",
            "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"It is 18 degrees.\"}]}]")
        .setAttribute("gen_ai.usage.input_tokens", 120L)
        .setAttribute("gen_ai.usage.output_tokens", 40L)
        .end();
    sdk.close();
  }
}
