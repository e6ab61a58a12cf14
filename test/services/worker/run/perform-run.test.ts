import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LOST_ATTEMPTS_MAX, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { markOnline } from '../../../../services/platform/automations/automations.ts'
import { stopRun } from '../../../../services/platform/runs/runs.ts'
import {
  createLlmConnection,
  setSealedKey,
} from '../../../../services/platform/connections/llm-connections.ts'
import type { LlmConnectionFields } from '../../../../services/platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { publishVersion } from '../../../../services/platform/projects/project-versions.ts'
import { resealKeys } from '../../../../services/tasks/reseal-keys.ts'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import { createFileHandover } from '../../../../services/worker/run/hand-files.ts'
import { performRun } from '../../../../services/worker/run/perform-run.ts'
import { createProgressWriter } from '../../../../services/worker/run/progress-writer.ts'
import type { RunDeps } from '../../../../services/worker/run/perform-run.ts'
import { noTracing } from '../../../../services/worker/run/run-trace.ts'
import { definition } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { isSilent, messageOf, refuses, responds, says } from '../../crew/fake-model.ts'
import { until } from '../../../support/until.ts'
import { begin, line, startBrokenCrew } from '../broken-crew.ts'
import type { BrokenCrew } from '../broken-crew.ts'
import { openWorker, SECRET_KEY_BASE, silent } from '../harness.ts'

const { deploy, model, platform } = await openWorker()
let broken: BrokenCrew | undefined

afterEach(async () => {
  await broken?.stop()
  broken = undefined
})

async function deployBroken(answer: (response: ServerResponse, kickoffs: number) => void) {
  broken = await startBrokenCrew(answer)
  await platform.deployAt(broken.url)
  return broken
}

/** Takes the next run and runs it, as the loop of a worker does. */
async function runNext(more: Partial<RunDeps> = {}, drain = new AbortController().signal) {
  const deps = {
    sql: platform.sql,
    log: silent,
    tracing: noTracing,
    progress: createProgressWriter({ together: [platform.sql], alone: platform.sql }),
    secretKeyBase: SECRET_KEY_BASE,
    readVariable: () => undefined,
    prices: () => [],
    crewPatienceMs: 1000,
    runTimeoutMs: 10_000,
    handFiles: createFileHandover(platform.sql),
    texts: { attend() {}, pass() {} },
    ...more,
  }
  const stopped = new AbortController().signal
  const pause = new AbortController().signal
  return performRun(deps, await platform.takeOne(), { drain, pause, stopped })
}

/** The same, and ends the connection of the first statement that looks for LLM connections. */
async function runNextCut(more: Partial<RunDeps>) {
  let outcome: ReturnType<typeof runNext> | undefined
  await platform.sql.begin(async (tx) => {
    await tx`lock table llm_connections in access exclusive mode`
    outcome = runNext(more)
    await until(async () => {
      const ended = await platform.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return ended.length > 0
    })
  })
  return outcome
}

describe('what a run is of', () => {
  it('is the version of its automation at the kickoff, whatever was published since', async () => {
    await deploy()
    const id = await platform.kickoff()
    const changed = { ...definition, tasks: definition.tasks.slice(0, 1) }
    const { projectVersionId } = platform.automation
    const [project] = await platform.sql<[{ id: number }]>`
      select project_id as id from project_versions where id = ${projectVersionId}`
    const newest = await publishVersion(platform.sql, project.id, changed)
    await platform.sql`
      update deployments set project_version_id = ${newest.id} where id = ${platform.automation.id}`
    model.play(says('Facts.'), says('A summary.'))
    expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ output: 'A summary.' })
    const next = await platform.kickoff()
    model.play(says('Facts only.'))
    expect(await runNext()).toBe('completed')
    expect(await platform.get(next)).toMatchObject({ output: 'Facts only.' })
    await platform.sql`
      update deployments set project_version_id = ${projectVersionId}
      where id = ${platform.automation.id}`
  })

  it('reaches a crew of the previous key, and opens what that key sealed', async () => {
    const previousSecretKeyBase = 'the-key-before-'.repeat(4)
    const token = crewToken(previousSecretKeyBase, platform.automation.automationId)
    const crew = await platform.startCrew({
      CREW_TOKEN: token,
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      LLM_PRIVATE_ORIGINS: new URL(model.baseUrl).origin,
    })
    await platform.deployAt(crew.url)
    const { organizationId } = platform.automation
    const fields = { name: 'main', provider: 'openai_compatible', model: 'test-model' }
    const connection = await createLlmConnection(platform.sql, {
      ...fields,
      organizationId,
      baseUrl: model.baseUrl,
    })
    const before = createLlmKeys(previousSecretKeyBase)
    await setSealedKey(platform.sql, connection, before.seal('sk-own', connection))
    model.play(says('Facts.'), says('A summary.'))
    await platform.kickoff()
    expect(await runNext({ previousSecretKeyBase })).toBe('completed')
    expect(model.requests[0]?.headers.authorization).toBe('Bearer sk-own')
    await platform.kickoff()
    expect(await runNext()).toBe('error')

    const pair = { current: SECRET_KEY_BASE, previous: previousSecretKeyBase }
    await resealKeys(platform.sql, pair, silent)
    const [row] = await platform.sql<
      { sealedKey: Buffer }[]
    >`select sealed_key from llm_connections`
    const after = createLlmKeys(SECRET_KEY_BASE)
    expect(after.open(row?.sealedKey ?? Buffer.alloc(0), connection)).toBe('sk-own')
    const lost = { current: 'yet-another-key-'.repeat(4), previous: undefined }
    await expect(resealKeys(platform.sql, lost, silent)).rejects.toMatchObject({ code: 'conflict' })
    await platform.sql`delete from llm_connections`
  })

  it('goes to the Runner when its automation has no crew of its own', async () => {
    const { sql } = platform
    const internal = { organization: 'Platform', internal: true }
    const runner = await seedAutomation(sql, { ...internal, slug: 'runner' })
    const base = { OPENAI_BASE_URL: model.baseUrl }
    const token = crewToken(SECRET_KEY_BASE, runner.automationId)
    const crew = await platform.startCrew({ ...base, CREW_TOKEN: token })
    await markOnline(sql, runner.id, crew.url)
    await platform.deployAt('http://127.0.0.1:9')
    await sql`update deployments set runs_on = ${runner.id} where id = ${platform.automation.id}`
    const id = await platform.kickoff()
    model.play(says('Facts.'), says('A summary.'))
    expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ status: 'completed' })
    await sql`update deployments set runs_on = null where id = ${platform.automation.id}`
  })
})

describe('a run whose organization has an LLM connection for its model', () => {
  const connect = (organizationId: number, change: Partial<LlmConnectionFields> = {}) =>
    createLlmConnection(platform.sql, {
      organizationId,
      name: 'main',
      provider: 'openai_compatible',
      model: 'test-model',
      baseUrl: model.baseUrl,
      ...change,
    })

  const failureOf = async (more: Partial<RunDeps> = {}) => {
    const id = await platform.kickoff()
    await runNext(more)
    return (await platform.get(id))?.error
  }

  beforeEach(async () => {
    await platform.sql`delete from llm_connections`
    // Its own model is nowhere.
    const crew = await platform.startCrew({
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      LLM_PRIVATE_ORIGINS: new URL(model.baseUrl).origin,
    })
    await platform.deployAt(crew.url)
  })

  it('calls the model there, with the key of the connection', async () => {
    const { organizationId } = platform.automation
    const connection = await connect(organizationId)
    const keys = createLlmKeys(SECRET_KEY_BASE)
    await setSealedKey(platform.sql, connection, keys.seal('sk-own', connection))
    model.play(says('Facts.'), says('A summary.'))
    const id = await platform.kickoff()
    expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ output: 'A summary.' })
    expect(model.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-own',
      'Bearer sk-own',
    ])
  })

  it('asks the model in the form that the connection says', async () => {
    await connect(platform.automation.organizationId, { api: 'responses' })
    model.play(responds([messageOf('Facts.')]), responds([messageOf('A summary.')]))
    const id = await platform.kickoff()
    expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ output: 'A summary.' })
    expect(model.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses'])
  })

  it('goes with a platform key to platform addresses only, never to an own one', async () => {
    const { organizationId } = platform.automation
    const variables: Record<string, string> = {
      OPENAI_API_KEY: 'sk-platform',
      OPENAI_BASE_URL: model.baseUrl,
    }
    const readVariable = (name: string) => variables[name]
    await connect(organizationId, { provider: 'openai', baseUrl: null })
    model.play(says('Facts.'), says('A summary.'))
    await platform.kickoff()
    expect(await runNext({ readVariable })).toBe('completed')
    expect(model.requests[0]?.headers.authorization).toBe('Bearer sk-platform')
    await platform.sql`update llm_connections set base_url = ${model.baseUrl}`
    model.play(says('Facts.'), says('A summary.'))
    await platform.kickoff()
    expect(await runNext({ readVariable })).toBe('completed')
    expect(model.requests[2]?.headers.authorization).toBeUndefined()
  })

  it('ends with what to do when the connection cannot be used', async () => {
    const { organizationId } = platform.automation
    const connection = await connect(organizationId, { provider: 'groq', baseUrl: null })
    expect(await failureOf()).toMatchObject({
      code: 'llm_connection_unusable',
      message: expect.stringContaining('GROQ_API_KEY'),
    })
    const sealed = createLlmKeys(`${SECRET_KEY_BASE}!`).seal('sk-own', connection)
    await setSealedKey(platform.sql, connection, sealed)
    expect((await failureOf())?.message).toContain('another SECRET_KEY_BASE')
    await platform.sql`update llm_connections set provider = 'replicate', sealed_key = null`
    expect((await failureOf())?.message).toContain('Give the connection a base URL')
    await platform.sql`update llm_connections set provider = 'ollama'`
    const readVariable = () => 'not an address'
    expect((await failureOf({ readVariable }))?.message).toContain('no OpenAI-compatible address')
  })

  it('names the connection whose key or address is refused', async () => {
    await connect(platform.automation.organizationId, { name: 'Team gateway' })
    model.play(refuses(401, 'Unknown key.'))
    expect(await failureOf()).toEqual({
      code: 'llm_rejected',
      message:
        `The model at ${new URL(model.baseUrl).host} refused the call with HTTP 401: ` +
        'Unknown key. Check the key of the LLM connection "Team gateway".',
    })
    model.play(refuses(404, 'No such model.'))
    expect((await failureOf())?.message).toMatch(/ Check the LLM connection "Team gateway"\.$/)
  })

  it('takes no notice of a connection for another model, or of another organization', async () => {
    const rival = await seedAutomation(platform.sql, { organization: 'Rival', slug: 'rival' })
    await connect(rival.organizationId)
    await connect(platform.automation.organizationId, { model: 'another-model' })
    expect(await failureOf()).toMatchObject({ code: 'llm_unreachable' })
    expect(model.requests).toHaveLength(0)
  })
})

describe('a run that another worker takes over', () => {
  it('is let go of at the next heartbeat when somebody stops it', async () => {
    await deploy()
    model.play(isSilent)
    const arrival = model.arrival()
    const id = await platform.kickoff()
    const outcome = runNext({ heartbeatMs: 20 })
    const request = await arrival
    await stopRun(platform.sql, id)
    expect(await outcome).toBe('revoked')
    await request.abandoned
    expect(await platform.get(id)).toMatchObject({ status: 'stopped', output: null, error: null })
  })

  it('is not completed by a worker whose lease another one has taken over', async () => {
    await deploy()
    model.play((response, request) => {
      const takeOver = async () => {
        await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
        // Whoever looks while an event is being stored finds the row locked, and looks again.
        const take = () => takeRuns(platform.sql, 1)
        await expect.poll(async () => (await take()).length).toBe(1)
        says('Facts.')(response, request)
      }
      void takeOver()
    }, says('A summary.'))
    const id = await platform.kickoff()
    expect(await runNext()).toBe('revoked')
    expect(await platform.get(id)).toMatchObject({ status: 'running', attempt: 2 })
    expect((await platform.attempts(id)).filter(([attempt]) => attempt === 2)).toEqual([])
  })
})

describe('a crew that breaks in the middle of a run', () => {
  it.each<[string, (response: ServerResponse) => void, string]>([
    [
      'hangs up',
      (response) => {
        begin(response)
        setImmediate(() => response.destroy())
      },
      'the connection ended',
    ],
    [
      'ends without a result',
      (response) => {
        begin(response)
        response.end()
      },
      'the connection ended',
    ],
    ['falls silent', begin, 'nothing was heard for 0.1 s'],
    [
      'writes something else',
      (response) => {
        begin(response)
        response.write('Traceback (most recent call last)\n')
      },
      'not valid JSON',
    ],
    [
      'writes an event that is none',
      (response) => {
        begin(response)
        response.write(line({ type: 'crew_completed', output: 7 }))
      },
      'Invalid',
    ],
    [
      'writes a line without an end',
      (response) => {
        begin(response)
        response.write('x'.repeat(8_500_000))
      },
      'longer than 8388608 characters',
    ],
  ])('and %s is tried again, three times at the most', async (_, answer, reason) => {
    const { kickoffs } = await deployBroken(answer)
    // A busy machine takes longer than that for what is written.
    const silenceMs = reason.startsWith('nothing was heard') ? 100 : 30_000
    const id = await platform.kickoff()
    for (let attempt = 1; attempt < LOST_ATTEMPTS_MAX; attempt += 1) {
      expect(await runNext({ silenceMs })).toBe('retried')
      expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt })
      await platform.sql`update executions set available_at = now()`
    }
    expect(await runNext({ silenceMs })).toBe('error')
    expect(kickoffs()).toBe(LOST_ATTEMPTS_MAX)
    const run = await platform.get(id)
    expect(run?.error?.code).toBe('crew_lost')
    expect(run?.error?.message).toContain('was lost in the middle of the run')
    expect(run?.error?.message).toContain(reason)
    expect(await platform.attempts(id)).toEqual([
      [1, 'crew_started'],
      [2, 'crew_started'],
      [3, 'crew_started'],
    ])
  })

  it('is waited for while heartbeats come, and unknown events are kept', async () => {
    await deployBroken((response) => {
      begin(response)
      response.write(line({ type: 'from_the_future', of: 'a newer crew' }))
      let beats = 0
      const timer = setInterval(() => {
        beats += 1
        response.write(line({ type: 'heartbeat' }))
        if (beats < 30) return
        clearInterval(timer)
        const usage = { input_tokens: 1, output_tokens: 2 }
        response.end(line({ type: 'crew_completed', output: 'slow', usage }))
      }, 20)
    })
    const id = await platform.kickoff()
    expect(await runNext({ silenceMs: 500 })).toBe('completed')
    expect(await platform.get(id)).toMatchObject({
      output: 'slow',
      usage: { inputTokens: 1, outputTokens: 2 },
    })
    expect(await platform.events(id)).toMatchObject([
      { type: 'crew_started' },
      { type: 'from_the_future', of: 'a newer crew' },
      { type: 'crew_completed' },
    ])
  })
})

describe('a crew that is replaced in the middle of a run', () => {
  const stopsInTheMiddle = (response: ServerResponse): void => {
    begin(response)
    response.write(line({ type: 'crew_stopping' }))
    setImmediate(() => response.destroy())
  }

  it('hands the run over, without counting the attempt as lost', async () => {
    await deployBroken(stopsInTheMiddle)
    const id = await platform.kickoff()
    for (let attempt = 1; attempt <= LOST_ATTEMPTS_MAX + 1; attempt += 1) {
      expect(await runNext()).toBe('released')
      expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt, error: null })
      await platform.sql`update executions set available_at = now()`
    }
    expect((await platform.attempts(id)).slice(0, 3)).toEqual([
      [1, 'crew_started'],
      [1, 'crew_stopping'],
      [2, 'crew_started'],
    ])
  })

  it('finishes the run when there is time', async () => {
    await deployBroken((response) => {
      begin(response)
      response.write(line({ type: 'crew_stopping' }))
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'done', usage }))
    })
    const id = await platform.kickoff()
    expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ output: 'done', attempt: 1 })
  })

  it('is given up at last when that never ends', async () => {
    await deployBroken(stopsInTheMiddle)
    const id = await platform.kickoff()
    await platform.sql`update executions set attempt = 19`
    expect(await runNext()).toBe('error')
    expect((await platform.get(id))?.error?.code).toBe('crew_replaced')
  })
})

describe('a crew that does not take a run', () => {
  it('is tried again while a proxy answers for it', async () => {
    const { kickoffs } = await deployBroken((response, count) => {
      if (count < 3) return void response.writeHead(count === 1 ? 502 : 503).end('<html>')
      begin(response)
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'done', usage }))
    })
    const id = await platform.kickoff()
    expect(await runNext({ crewPatienceMs: 5000 })).toBe('completed')
    expect(kickoffs()).toBe(3)
    expect(await platform.get(id)).toMatchObject({ output: 'done', attempt: 1 })
  })

  it.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['another token', (response) => void response.writeHead(401).end(), /SECRET_KEY_BASE.*again/],
    [
      'a reason',
      (response) => {
        response.writeHead(422, { 'content-type': 'application/problem+json' })
        response.end('{"message":"Inputs are missing: topic."}')
      },
      /HTTP 422: Inputs are missing: topic\./,
    ],
    ['a web page', (response) => void response.end('<html>'), /is not a crew/],
    ['a redirect', (response) => void response.writeHead(302, { location: '/' }).end(), /HTTP 302/],
  ])('with %s is not tried again', async (_, answer, message) => {
    const { kickoffs } = await deployBroken(answer)
    const id = await platform.kickoff()
    expect(await runNext()).toBe('error')
    expect(kickoffs()).toBe(1)
    expect((await platform.get(id))?.error).toEqual({
      code: 'crew_rejected',
      message: expect.stringMatching(message),
    })
  })

  it('because it answers too late has it again later, also in a later attempt', async () => {
    await deployBroken((response, kickoffs) => {
      if (kickoffs === 1) return
      begin(response)
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'Late.', usage }))
    })
    const id = await platform.kickoff()
    const patience = { crewPatienceMs: 0, runTimeoutMs: 60_000 }
    expect(await runNext(patience)).toBe('released')
    expect(await platform.get(id)).toMatchObject({ status: 'queued', error: null })
    await platform.sql`update executions set available_at = now() where id = ${id}`
    expect(await runNext(patience)).toBe('completed')
    expect(await platform.get(id)).toMatchObject({ output: 'Late.' })
  })

  it('because it was never deployed is an error at once', async () => {
    await platform.sql`update deployments set status = 'Crew is Provisioning', url = null`
    const id = await platform.kickoff()
    expect(await runNext()).toBe('error')
    expect((await platform.get(id))?.error?.code).toBe('crew_not_deployed')
  })
})

describe('a run', () => {
  it('is ended when it takes too long', async () => {
    await deploy()
    model.play(isSilent)
    const arrival = model.arrival()
    const id = await platform.kickoff()
    expect(await runNext({ runTimeoutMs: 2000 })).toBe('error')
    await (
      await arrival
    ).abandoned
    expect((await platform.get(id))?.error).toEqual({
      code: 'execution_timeout',
      message: 'The run took longer than 2 s and was ended.',
    })
  })

  it.each([
    ['goes on when the database is back in time', undefined, 'completed'],
    ['goes back to the queue when it is not', 0, 'released'],
  ])('is prepared anew after the database ended a connection: %s', async (_, patience, outcome) => {
    await deploy()
    const { sql } = platform
    const id = await platform.kickoff()
    model.play(says('Facts.'), says('A summary.'))
    expect(await runNextCut({ databasePatienceMs: patience })).toBe(outcome)
    const released = { status: 'queued', error: null }
    const done = { status: 'completed', output: 'A summary.' }
    expect(await platform.get(id)).toMatchObject(patience === 0 ? released : done)
    await sql`update executions set available_at = now() where id = ${id}`
    if (patience === 0) expect(await runNext()).toBe('completed')
    expect(await platform.get(id)).toMatchObject(done)
    expect(model.requests).toHaveLength(2)
  })

  it('goes back to the queue while its crew is unavailable and the worker stops', async () => {
    await deployBroken((response) => void response.writeHead(503).end())
    const id = await platform.kickoff()
    const drain = new AbortController()
    const outcome = runNext(
      { crewPatienceMs: 60_000, onCrewUnavailable: () => drain.abort() },
      drain.signal,
    )
    expect(await outcome).toBe('released')
    expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt: 1 })
  })
})
