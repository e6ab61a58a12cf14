package main

import (
	"context"
	"log"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)

	_, span := otel.Tracer("weather").Start(ctx, "chat gpt-5-mini",
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "chat"),
			attribute.String("gen_ai.provider.name", "openai"),
			attribute.String("gen_ai.request.model", "gpt-5-mini"),
			attribute.String("gen_ai.input.messages",
				`[{"role":"user","parts":[{"type":"text","content":"How warm is it in Paris?"}]}]`),
		))
	// Here the model is called.
	span.SetAttributes(
		attribute.String("gen_ai.output.messages",
			`[{"role":"assistant","parts":[{"type":"text","content":"It is 18 degrees."}]}]`),
		attribute.Int("gen_ai.usage.input_tokens", 120),
		attribute.Int("gen_ai.usage.output_tokens", 40),
	)
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
