import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLlm } from '../../../../services/crew/llm.ts'
import { runHere } from '../run-here.ts'
import { hasUv, installLiteLlm, startLiteLlm } from './litellm.ts'
import { ANSWER, PROVIDERS, TOOL } from './providers.ts'
import { startRecording } from './recording.ts'
import { startUpstream } from './upstream.ts'

/** `live` asks LiteLLM of PyPI, `record` keeps its answers too; else those that were kept. */
const mode = process.env['GATEWAY']
const isLive = mode === 'live' || mode === 'record'
const KEY = 'sk-gateway'
const LONG_MS = 600_000

if (isLive && !hasUv) throw new Error('LiteLLM cannot be installed: uv is not on the PATH')
if (!isLive) console.warn('LiteLLM answers as it was recorded; npm run test:gateway asks it')

let upstream: Awaited<ReturnType<typeof startUpstream>>
let recording: Awaited<ReturnType<typeof startRecording>>
let gateway: Awaited<ReturnType<typeof startLiteLlm>> | undefined

beforeAll(async () => {
  upstream = await startUpstream()
  if (isLive) {
    installLiteLlm()
    gateway = await startLiteLlm(upstream.url, KEY)
  }
  recording = await startRecording(gateway?.url)
}, LONG_MS)

afterAll(async () => {
  if (mode === 'record') recording.save()
  await recording.stop()
  await gateway?.stop()
  await upstream.stop()
})

/** Runs a crew that computes with a tool; its words are followed or not. */
async function run(model: string, isStreamed: boolean) {
  const definition = {
    name: 'Crew',
    llm: { model },
    tools: { [TOOL]: { type: 'calculator' as const } },
    agents: [{ key: 'ada', role: 'Ada', goal: 'Compute', tools: [TOOL] }],
    tasks: [{ key: 'task', agent: 'ada', description: '6 × 7?', expected_output: 'A number' }],
  }
  const heard: string[] = []
  const llm = createLlm({ baseUrl: `${recording.url}/v1`, apiKey: KEY, timeoutMs: 60_000 })
  const listening: typeof llm = {
    ...llm,
    complete: (call, signal) => llm.complete(call, signal, (text) => void heard.push(String(text))),
  }
  return { heard, ...(await runHere({ definition, llm: isStreamed ? listening : llm })) }
}

describe.each(Object.keys(PROVIDERS))('a model of %s behind LiteLLM', (provider) => {
  it.each([
    ['as a whole', false],
    ['word by word', true],
  ])('calls a tool and answers %s, and counts its tokens', async (_, isStreamed) => {
    recording.requests.length = 0
    upstream.calls.length = 0
    const { output, failure, usage, events, heard } = await run(provider, isStreamed)
    expect(failure).toBeUndefined()
    expect(output).toBe(ANSWER)
    expect(usage).toMatchObject({ input_tokens: 100, output_tokens: 18 })
    expect(heard.length > 0).toBe(isStreamed)
    const tools = events.filter(({ type }) => type === 'tool_call')
    expect(tools).toMatchObject([{ tool: TOOL, result: '42' }])
    expect(recording.requests).toHaveLength(2)
    if (!isLive) return
    const [first, second] = upstream.calls
    expect(first).toEqual({ provider, isStreamed, result: undefined })
    expect(second).toMatchObject({ provider, isStreamed })
    expect(JSON.stringify(second?.result)).toContain('42')
  })
})
