import { openai } from '@ai-sdk/openai'
import { OpenTelemetry } from '@ai-sdk/otel'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { generateText, registerTelemetry } from 'ai'

const sdk = new NodeSDK()
sdk.start()
registerTelemetry(new OpenTelemetry())

const { text } = await generateText({
  model: openai('gpt-5-mini'),
  system: 'You answer in one sentence.',
  prompt: 'How warm is it in Paris?',
})
process.stdout.write(`${text}\n`)
await sdk.shutdown()
