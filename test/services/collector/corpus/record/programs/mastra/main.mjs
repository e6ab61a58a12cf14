// Mastra: an agent with a tool, exported by its own OpenTelemetry exporter.
import { createOpenAI } from '@ai-sdk/openai'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Observability } from '@mastra/observability'
import { OtelExporter } from '@mastra/otel-exporter'
import { z } from 'zod'

const getWeather = createTool({
  id: 'get_weather',
  description: 'The weather',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => '18 degrees, sunny',
})
const openai = createOpenAI({ baseURL: `${process.env.MODEL_SERVER}/v1`, apiKey: 'none' })
const agent = new Agent({
  id: 'weather_agent',
  name: 'weather_agent',
  instructions: 'You are a weather assistant.',
  model: openai.chat('gpt-5-mini'),
  tools: { get_weather: getWeather },
})
const mastra = new Mastra({
  agents: { agent },
  observability: new Observability({
    configs: {
      otel: {
        serviceName: 'corpus',
        exporters: [
          new OtelExporter({
            provider: {
              custom: {
                endpoint: `${process.env.MODEL_SERVER}/v1/traces`,
                protocol: 'http/protobuf',
              },
            },
          }),
        ],
      },
    },
  }),
})
await mastra.getAgent('agent').generate('How warm is it in Paris?', {
  tracingOptions: { metadata: { sessionId: 'session-1', userId: 'user-1' } },
})
await mastra.shutdown?.()
await mastra.observability?.shutdown?.()
