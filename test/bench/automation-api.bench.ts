import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Hono } from 'hono'
import { importJWK, jwtVerify } from 'jose'
import { afterAll, bench, describe } from 'vitest'
import { findCallableAutomation } from '../../services/platform/automations/automation-oauth.ts'
import { findRun, kickoff } from '../../services/platform/runs/runs.ts'
import { listRunTasks } from '../../services/platform/runs/run-tasks.ts'
import { readEnv } from '../../services/shared/env.ts'
import { createLog } from '../../services/shared/log.ts'
import { createApp } from '../../services/web/app.ts'
import { createGate } from '../../services/web/gate/access-token/gate.ts'
import { createKeyStore } from '../../services/web/gate/access-token/key-store.ts'
import { createVerifiedTokens } from '../../services/web/gate/access-token/verified-tokens.ts'
import { webEnv } from '../../services/web/env.ts'
import {
  CLIENT,
  openPlatformWithOauth,
  settingsFor,
} from '../services/web/support/platform-with-oauth.ts'
import { BASE_URL, environment } from '../services/web/support/platform.ts'
import { guardFor } from '../support/outgoing.ts'
import { installContender } from './queue/contenders.ts'

const CONCURRENT = 16
const ROUNDS = 15
/** In a round: as many as take long beside what else the machine does for a moment. */
const REQUESTS = 640
const DECISIONS = 2560
/** More than the gate remembers: one that comes round again is as good as new. */
const TOKENS = 4096

const at = await openPlatformWithOauth()
afterAll(() => at.close())

const { automationId, id: deploymentId } = at.acme.research
const runId = await kickoff(at.sql, { deploymentId, inputs: { topic: 'x' } })
const log = createLog({ name: 'bench', level: 'silent' })
const env = { ...environment(at.url), AUTOMATION_OAUTH_PRIVATE_ORIGINS: at.idp.issuer }
const app = createApp({
  config: readEnv(webEnv, env),
  sql: at.sql,
  log,
  ping: async () => {},
  isDraining: () => false,
})
const staticToken = await at.issueToken(at.acme)
const warmToken = at.token()
const coldTokens = Array.from({ length: TOKENS }, (_, jti) => at.token({ jti }))
/** Another token each time. */
function takeTurns(): () => string {
  let next = 0
  return () => coldTokens[next++ % TOKENS] ?? ''
}

/** The same statements as the status, and nothing else. */
const bare = new Hono()
bare.get('/status', async (c) => {
  const callable = await findCallableAutomation(at.sql, automationId)
  const run = await findRun(at.sql, callable?.automation.id ?? 0, runId)
  return c.json({ run, tasks: run && (await listRunTasks(at.sql, run)) })
})

interface Graphile {
  readonly runMigrations: (options: object) => Promise<void>
}
const packages = await installContender('graphile-worker')
const graphile = createRequire(join(packages, 'index.js'))('graphile-worker') as Graphile
await graphile.runMigrations({ connectionString: at.url })
/** What queues an empty job with graphile-worker, and nothing else. */
bare.post('/jobs', async (c) => {
  const payload = JSON.stringify(await c.req.json())
  const [job] = await at.sql<{ id: string }[]>`
    select id::text from graphile_worker.add_job('noop', ${payload}::text::json)`
  return c.json({ id: job?.id })
})

const path = `${BASE_URL}/platform/api/v1/crew/${automationId}`
const status = (token: string) => () =>
  app.request(`${path}/status/${runId}`, { headers: { authorization: `Bearer ${token}` } })
const start = (token: string) => () =>
  app.request(`${path}/kickoff`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"inputs":{"topic":"x"}}',
  })

const queueing: Readonly<Record<string, () => Response | Promise<Response>>> = {
  'bare route, add_job of graphile-worker': () =>
    bare.request(`${BASE_URL}/jobs`, { method: 'POST', body: '{"inputs":{"topic":"x"}}' }),
  'kickoff, static token': start(staticToken),
  'kickoff, OAuth warm': start(warmToken),
}

const nextCold = takeTurns()
const requests: Readonly<Record<string, () => Response | Promise<Response>>> = {
  'bare route, same statements': () =>
    bare.request(`${BASE_URL}/status`, { headers: { authorization: `Bearer ${warmToken}` } }),
  'status, static token': status(staticToken),
  'status, OAuth warm': status(warmToken),
  'status, OAuth cold': () => status(nextCold())(),
}

async function secondsFor(calls: number, call: () => unknown): Promise<number> {
  const started = performance.now()
  let left = calls
  const work = async (): Promise<void> => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work))
  return (performance.now() - started) / 1000
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Everything in turn, round after round, so that what else the machine does meets all alike. */
async function compare(
  calls: number,
  variants: Readonly<Record<string, () => unknown>>,
): Promise<void> {
  const names = Object.keys(variants)
  const rates = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, call] of Object.entries(variants)) {
      rates.get(name)?.push(calls / (await secondsFor(calls, call)))
    }
  }
  const base = rates.get(names[0] ?? '') ?? []
  for (const [name, all] of rates) {
    const ratio = median(all.map((rate, round) => rate / (base[round] ?? Number.NaN)))
    console.log(`${name.padEnd(36)} ${median(all).toFixed(0).padStart(7)}/s  ${ratio.toFixed(2)}`)
  }
}

const once = { iterations: 1, time: 0, warmupIterations: 0, warmupTime: 0 }

describe('the automation API', () => {
  // Async by its own word: else it is run three times to find out.
  bench('requests, against a bare route', async () => compare(REQUESTS, requests), once)

  bench('kickoffs, against jobs', async () => compare(REQUESTS, queueing), once)

  bench(
    'a cold token, against one verification by jose',
    async () => {
      const keys = createKeyStore({
        guard: guardFor(at.idp.issuer),
        staleMs: 0,
        log,
        now: Date.now,
      })
      const gate = createGate({ keys, verified: createVerifiedTokens(), now: Date.now })
      const context = {
        organizationId: 1,
        settings: settingsFor(at.idp.issuer),
        boundClient: CLIENT,
      }
      const key = await importJWK({ ...at.key.jwk, kty: 'RSA' }, 'RS256')
      const rules = { issuer: at.idp.issuer, audience: BASE_URL, algorithms: ['RS256'] }
      const [forJose, forGate] = [takeTurns(), takeTurns()]
      await compare(DECISIONS, {
        'one verification by jose': () => jwtVerify(forJose(), key, rules),
        'the gate, cold': () => gate.decide(forGate(), context),
        'the gate, warm': () => gate.decide(warmToken, context),
      })
    },
    once,
  )
})
