import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { completeRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import { isLong } from '../../../../support/long.ts'
import { createHarness, SECRET } from '../../../collector/support/harness.ts'
import type { Harness } from '../../../collector/support/harness.ts'
import { readObject } from '../../support/platform.ts'
import { newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

const UNLIMITED = { TOKEN_CALLS_PER_MINUTE: '0', ORGANIZATION_CALLS_PER_MINUTE: '0' }
const UNKNOWN = '00000000-0000-4000-8000-000000000000'
const UUID = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** Two clients of one organization: each may start `acme-research`, one of them all there is. */
const CLIENTS = ['static', 'oauth'] as const
type Name = (typeof CLIENTS)[number]

let stage: PlatformWithOauth
let collector: Harness
let url: string
let bearers: Readonly<Record<Name, string>>

beforeAll(async () => {
  const parts = await Promise.all([openPlatformWithOauth(), createHarness()])
  ;[stage, collector] = parts
  const traces = { COLLECTOR_URL: collector.collector.url, COLLECTOR_JWT_SECRET: SECRET }
  url = `${(await stage.serve({ ...traces, ...UNLIMITED })).url}/mcp`
  // The address takes access tokens while there is one organization.
  await stage.sql`update organizations set internal = true where id = ${stage.rival.organizationId}`
  bearers = { static: await stage.issueToken(stage.acme), oauth: stage.token() }
})
afterAll(async () => {
  await stage.close()
  await collector.stop()
})

/** What a client does, with one of its own runs or of those of the other. */
const act = fc.record({
  by: fc.constantFrom(...CLIENTS),
  what: fc.constantFrom(
    'list',
    'call',
    'call',
    'call with a key',
    'end',
    'get',
    'result',
    'cancel',
    'traces',
    'traces behind',
    'trace',
    'answer',
  ),
  which: fc.nat({ max: 3 }),
  isForeign: fc.boolean(),
})
type Act = typeof act extends fc.Arbitrary<infer Each> ? Each : never

/** What two clients have started, and all that each has seen. */
interface World {
  readonly own: Readonly<Record<Name, string[]>>
  readonly seen: Readonly<Record<Name, string[]>>
  readonly leased: Map<string, LeasedRun>
}

const ELICITING = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}

async function ask(by: Name, method: string, params: object): Promise<Record<string, unknown>> {
  const isOfToday = '_meta' in params && params._meta === ELICITING
  const headers = {
    ...newCaller(bearers[by]),
    'content-type': 'application/json',
    ...(isOfToday && {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': 'acme-research',
    }),
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return readObject(await fetch(url, { method: 'POST', body, headers }))
}

const other = (name: Name): Name => (name === 'static' ? 'oauth' : 'static')

/** The message that a client sends; undefined: it would wait for its own run. */
function messageOf(
  { what, which, by, isForeign }: Act,
  { own, leased }: World,
): readonly [method: string, params: object] | undefined {
  const ids = own[isForeign ? other(by) : by]
  const taskId = ids[which % Math.max(1, ids.length)] ?? UNKNOWN
  const call = {
    name: isForeign ? 'acme-digest' : 'acme-research',
    arguments: isForeign ? {} : { topic: 'tides' },
    task: {},
  }
  const state = Buffer.from(JSON.stringify({ run: taskId, task: 'research' })).toString('base64url')
  const decision = { action: 'accept', content: { decision: 'approve' } }
  const answer = { ...call, _meta: ELICITING, requestState: state, inputResponses: { decision } }
  const isPending = !isForeign && leased.has(taskId)
  const messages: Record<typeof what, ReturnType<typeof messageOf>> = {
    end: undefined,
    list: ['tools/list', {}],
    call: ['tools/call', call],
    'call with a key': ['tools/call', { ...call, _meta: { idempotency_key: `k${which}` } }],
    get: ['tasks/get', { taskId }],
    result: isPending ? undefined : ['tasks/result', { taskId }],
    cancel: ['tasks/cancel', { taskId }],
    traces: ['resources/list', {}],
    'traces behind': ['resources/list', { cursor: taskId }],
    trace: ['resources/read', { uri: `run://${taskId}/trace` }],
    answer: isPending ? undefined : ['tools/call', { ...answer, name: 'acme-research' }],
  }
  return messages[what]
}

async function perform(world: World, step: Act): Promise<void> {
  const { by, what, which } = step
  const own = world.own[by]
  if (what === 'end') {
    const run = world.leased.get(own[which % Math.max(1, own.length)] ?? '')
    if (run) {
      await completeRun(stage.sql, run, {
        output: `What ${by} asked for.`,
        usage: { inputTokens: 1, outputTokens: 1 },
      })
      world.leased.delete(run.id)
    }
    return
  }
  const message = messageOf(step, world)
  if (!message) return
  const text = JSON.stringify(await ask(by, message[0], message[1]))
  for (const run of await takeRuns(stage.sql, 1)) {
    world.leased.set(run.id, run)
    own.push(run.id)
  }
  if (what === 'cancel') for (const id of own) if (text.includes(id)) world.leased.delete(id)
  const named = text.replaceAll(UUID, (id) => nameOf(id, own)).replaceAll(TIME, 'some time')
  world.seen[by].push(`${what}: ${named}`)
}

/** The automation's id stays what it is; the runs of a client have numbers. */
function nameOf(id: string, own: readonly string[]): string {
  if (id === stage.acme.research.automationId) return 'research'
  const dashed = id.replace(/^(.{8})-?(.{4})-?(.{4})-?(.{4})-?(.{12})$/, '$1-$2-$3-$4-$5')
  const at = own.indexOf(dashed)
  return at === -1 ? 'no run of mine' : `my run ${at}`
}

async function play(steps: readonly Act[]): Promise<World> {
  await stage.sql`delete from executions`
  const world: World = {
    own: { static: [], oauth: [] },
    seen: { static: [], oauth: [] },
    leased: new Map(),
  }
  for (const step of steps) await perform(world, step)
  return world
}

it('what a client sees is the same, whatever another client does meanwhile', async () => {
  let answers = 0
  let texts = ''
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 6, maxLength: 16 }), async (steps) => {
      const { seen: together } = await play(steps)
      for (const name of CLIENTS) {
        const { seen: alone } = await play(steps.filter(({ by }) => by === name))
        expect(together[name]).toEqual(alone[name])
        answers += alone[name].length
        texts += alone[name].join('\n')
      }
    }),
    { numRuns: isLong ? 400 : 8 },
  )
  expect(answers).toBeGreaterThan(50)
  for (const word of ['my run 0', 'There is no such', 'acme-research']) {
    expect(texts).toContain(word)
  }
})
