import { createHash } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import {
  loadRequest,
  recordRequest,
  sweepContents,
} from '../../../../services/platform/runs/run-contents.ts'
import { requestDigest } from '../../../../services/platform/crew-contract/step-request.ts'
import type { StepRequest } from '../../../../services/platform/crew-contract/step-request.ts'
import { dropExpiredDay } from '../../../../services/platform/runs/run-days.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { canonicalJson } from '../../../../services/shared/canonical-json.ts'
import { definition } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { asks, says } from '../../crew/fake-model.ts'
import { begin, line, startBrokenCrew } from '../broken-crew.ts'
import { openWorker } from '../harness.ts'

const { deploy, model, platform, publish } = await openWorker()
const { sql } = platform

const sum = { type: 'calculator' } as const
const counting = {
  ...definition,
  tools: { sum },
  agents: definition.agents.map((agent) => ({ ...agent, tools: ['sum'] })),
}

async function runOnce(): Promise<string> {
  const id = await platform.kickoff()
  await platform.until(id, 'completed')
  return id
}

const requestsOf = (id: string) =>
  sql<{ kind: string; sha256: string | null; request: Buffer | null }[]>`
    select kind, encode(request_sha256, 'hex') as sha256, request from run_steps
    where run_id = ${id} and kind <> 'task' order by position`

async function countParts(): Promise<number> {
  const [row] = await sql<[{ count: number }]>`select count(*)::int as count from run_contents`
  return row.count
}

async function readAll(id: string) {
  const steps = await requestsOf(id)
  const addresses = steps.flatMap(({ request }) => request ?? [])
  return Promise.all(addresses.map((address) => loadRequest(sql, { runId: id, address })))
}

/** Deletes runs as a person or the retention does, and what they asked. */
async function erase(...ids: string[]): Promise<void> {
  await sql`delete from executions where id = any (${ids}::uuid[])`
  while ((await sweepContents(sql)) > 0);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('what models and tools are asked in a run', () => {
  it('is recorded with each step, and a conversation has a row for each message', async () => {
    await deploy()
    await publish(counting)
    const given = { expression: '1+1' }
    model.play(asks(['sum', given]), asks(['sum', given]), says('Two.'), says('A summary.'))
    await platform.startWorker()
    const id = await runOnce()
    const steps = await requestsOf(id)
    expect(steps.map(({ kind }) => kind)).toEqual(['llm', 'tool', 'llm', 'tool', 'llm', 'llm'])
    const read = await readAll(id)
    const calls = read.filter((each) => each && 'model' in each)
    expect(calls).toEqual(
      model.requests.map(({ body }) => {
        const { model: name, messages, tools, ...parameters } = body
        return { model: name, messages, tools, parameters }
      }),
    )
    expect(read[1]).toEqual({ tool: 'sum', arguments: given })
    expect(steps.map((each) => each.sha256)).toEqual(
      read.map((each) => sha256(canonicalJson(each))),
    )
    // Both agents have one head; then the two conversations, and one call.
    expect(await countParts()).toBe(1 + 6 + 2 + 1)
  })

  it('is there once for an organization, and for as long as one of its runs has it', async () => {
    await erase()
    await deploy()
    await publish(definition)
    model.play(says('Facts.'))
    await platform.startWorker()
    const first = await runOnce()
    const parts = await countParts()
    const second = await runOnce()
    expect(await countParts()).toBe(parts)
    const asked = await readAll(first)
    await erase(first)
    expect(await readAll(second)).toEqual(asked)
    expect(await readAll(first)).toEqual([])
    await erase(second)
    expect(await countParts()).toBe(0)
  })

  it('is dropped with its day', async () => {
    await sql`select make_run_day(date '2020-02-02')`
    await sql`insert into run_contents values ('2020-02-02', 1, sha256('a'), null, '')`
    expect(await dropExpiredDay(sql, 30)).toBe('2020-02-02')
    expect(await countParts()).toBe(0)
  })

  it('is not there for a crew that does not tell it', async () => {
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const at = new Date().toISOString()
      const step = { step: 'a', kind: 'llm', name: 'm', path: ['a'] }
      response.write(line({ type: 'step_started', at, seq: 1, ...step }))
      response.end(line({ type: 'crew_completed', at, seq: 2, output: 'x', usage: NO_TOKENS }))
    })
    await platform.deployAt(crew.url)
    await platform.startWorker()
    const id = await runOnce()
    expect(await requestsOf(id)).toMatchObject([{ sha256: null, request: null }])
    await crew.stop()
  })
})

describe('a crew that tells nonsense', () => {
  it('harms its own run alone: a request that is nested without end', async () => {
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const at = new Date().toISOString()
      const nested = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
      const step = { step: 'a', kind: 'llm', name: 'm', path: ['a'], request: 0 }
      const started = line({ type: 'step_started', at, seq: 1, ...step })
      response.write(started.replace('"request":0', `"request":${nested}`))
    })
    await platform.deployAt(crew.url)
    await platform.startWorker()
    const id = await platform.kickoff()
    const { error } = await platform.until(id, 'error')
    expect(error).toMatchObject({ code: 'internal' })
    await crew.stop()
    await deploy()
    model.play(says('Facts.'))
    await runOnce()
  })
})

const NO_TOKENS = { input_tokens: 0, output_tokens: 0 }

describe('the parts of requests', () => {
  /** Stores requests as one run after the other does, and returns what they are read as. */
  async function roundTrip(requests: readonly StepRequest[]): Promise<unknown[]> {
    await platform.kickoff()
    const run = await platform.takeOne()
    const known = new Set<string>()
    const records = requests.map((request) => recordRequest(request, known))
    const parts = records.flatMap((each) => each.parts)
    await recordProgress(sql, run, { events: [], steps: [], parts })
    return Promise.all(
      records.map(({ address }) =>
        loadRequest(sql, { runId: run.id, address: Buffer.from(address, 'hex') }),
      ),
    )
  }

  it('make the request that was divided, whatever it holds', async () => {
    const request = fc.record(
      {
        model: fc.string({ unit: 'binary' }),
        messages: fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 }),
        tools: fc.array(fc.jsonValue(), { maxLength: 2 }),
      },
      { requiredKeys: ['model'] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 4 }), async (requests) => {
        const read = await roundTrip(requests)
        expect(read.map((each) => canonicalJson(each))).toEqual(requests.map(canonicalJson))
      }),
      { numRuns: 30 },
    )
  })

  it('are DEFLATE, and their digest is that of the request, however short they are', () => {
    const request = fc.record({ tool: fc.string({ maxLength: 150 }), given: fc.jsonValue() })
    fc.assert(
      fc.property(request, (asked) => {
        const { parts, sha256 } = recordRequest(asked, new Set())
        const [part] = parts
        const text = inflateRawSync(Buffer.from(part?.content ?? '', 'base64')).toString()
        expect([parts.length, text]).toEqual([1, canonicalJson(asked)])
        expect([sha256, part?.address]).toEqual([requestDigest(asked), sha256])
      }),
    )
  })

  it('cost as much as the messages that are new, however long the conversation is', () => {
    const known = new Set<string>()
    const message = (content: string) => ({ role: 'user', content })
    const messages = Array.from({ length: 50 }, (_, index) => message(`message ${index}`))
    const counts = messages.map((_, index) => {
      const request = { model: 'm', messages: messages.slice(0, index + 1) }
      return recordRequest(request, known).parts.length
    })
    expect(counts).toEqual([2, ...messages.slice(1).map(() => 1)])
    expect(requestDigest({ b: 1, a: 2 })).toBe(requestDigest({ a: 2, b: 1 }))
  })

  it('are not read for a run of another organization', async () => {
    const rival = await seedAutomation(sql, { organization: 'Rival', slug: 'rival' })
    const secret = { model: 'm', messages: [{ role: 'user', content: 'secret' }] }
    expect(await roundTrip([secret])).toEqual([secret])
    const theirs = await kickoff(sql, { deploymentId: rival.id, inputs: { topic: 'x' } })
    const { address } = recordRequest(secret, new Set())
    const at = Buffer.from(address, 'hex')
    expect(await loadRequest(sql, { runId: theirs, address: at })).toBeUndefined()
  })

  it('are not read where one of them is lost', async () => {
    const known = new Set<string>()
    const messages = [{ role: 'system', content: 'a' }]
    recordRequest({ model: 'm', messages }, known)
    await platform.kickoff()
    const run = await platform.takeOne()
    const request = { model: 'm', messages: [...messages, { role: 'user', content: 'b' }] }
    const { parts, address } = recordRequest(request, known)
    await recordProgress(sql, run, { events: [], steps: [], parts })
    const at = Buffer.from(address, 'hex')
    expect(await loadRequest(sql, { runId: run.id, address: at })).toBeUndefined()
  })
})
