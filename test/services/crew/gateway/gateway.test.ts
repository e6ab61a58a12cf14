import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLlm } from '../../../../services/shared/models/llm.ts'
import type { LlmApi } from '../../../../services/shared/models/llm-call.ts'
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
if (!isLive) console.warn('LiteLLM answers as recorded; npm run test:long -- gateway asks it')

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
async function run(model: string, api: LlmApi, isStreamed: boolean) {
  const definition = {
    name: 'Crew',
    llm: { model },
    tools: { [TOOL]: { type: 'calculator' as const } },
    agents: [{ key: 'ada', role: 'Ada', goal: 'Compute', tools: [TOOL] }],
    tasks: [{ key: 'task', agent: 'ada', description: '6 × 7?', expected_output: 'A number' }],
  }
  const heard: string[] = []
  const llm = createLlm({ baseUrl: `${recording.url}/v1`, apiKey: KEY, api, timeoutMs: 60_000 })
  const listening: typeof llm = {
    ...llm,
    complete: (call, signal) => llm.complete(call, signal, (text) => void heard.push(String(text))),
  }
  recording.requests.length = 0
  upstream.calls.length = 0
  return { heard, ...(await runHere({ definition, llm: isStreamed ? listening : llm })) }
}

const WAYS = [
  ['as a whole', false],
  ['word by word', true],
] as const
const TRANSLATED = Object.keys(PROVIDERS).filter((name) => name !== 'openai')

describe.each([
  ...TRANSLATED.map((provider) => [provider, 'chat_completions'] as const),
  // Its own form of responses is OpenAI's.
  ...TRANSLATED.filter((name) => name !== 'azure').map((name) => [name, 'responses'] as const),
])('a model of %s behind the %s of LiteLLM', (provider, api) => {
  it.each(WAYS)('calls a tool and answers %s, and counts its tokens', async (_, isStreamed) => {
    const { output, failure, usage, events, heard } = await run(provider, api, isStreamed)
    expect(failure).toBeUndefined()
    expect(output).toBe(ANSWER)
    expect(usage).toMatchObject({ input_tokens: 100, output_tokens: 18 })
    expect(heard.length > 0).toBe(isStreamed)
    const tools = events.filter(({ type }) => type === 'tool_call')
    expect(tools).toMatchObject([{ tool: TOOL, result: '42' }])
    expect(recording.requests).toHaveLength(2)
    if (!isLive) return
    const [first, second] = upstream.calls
    expect(first).toMatchObject({ provider, isStreamed, result: undefined })
    expect(second).toMatchObject({ provider, isStreamed })
    expect(JSON.stringify(second?.result)).toContain('42')
  })
})

describe('a model of OpenAI behind LiteLLM that takes tools at responses only', () => {
  it.each(WAYS)('is asked there, and answers %s', async (_, isStreamed) => {
    const { output, usage, events, heard } = await run('openai', 'auto', isStreamed)
    expect(output).toBe(ANSWER)
    expect(heard.join('')).toBe(isStreamed ? ANSWER : '')
    expect(usage).toEqual({ input_tokens: 100, output_tokens: 18, cached_input_tokens: 40 })
    const [first] = events.filter(({ type }) => type === 'llm_call')
    expect(first).toMatchObject({ attempts: 2, reasoning_output_tokens: 4 })
    if (!isLive) return
    expect(upstream.calls).toMatchObject([
      { result: undefined, isStreamed },
      { result: { output: '42' }, isSealed: true, isStreamed },
    ])
  })
})
