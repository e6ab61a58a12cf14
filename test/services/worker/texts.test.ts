import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { tellFollowed } from '../../../services/platform/runs/run-texts.ts'
import type { RunText } from '../../../services/platform/runs/run-texts.ts'
import { createTextWatch } from '../../../services/web/run-texts/text-watch.ts'
import { createFileHandover } from '../../../services/worker/run/hand-files.ts'
import { performRun } from '../../../services/worker/run/perform-run.ts'
import { createProgressWriter } from '../../../services/worker/run/progress-writer.ts'
import { noTracing } from '../../../services/worker/run/run-trace.ts'
import { openTextRelay } from '../../../services/worker/run/text-relay.ts'
import type { TextRelay } from '../../../services/worker/run/text-relay.ts'
import { startFakeModel, says, writes } from '../crew/fake-model.ts'
import type { FakeModel } from '../crew/fake-model.ts'
import { openPlatform, SECRET_KEY_BASE, silent } from './harness.ts'

let platform: Awaited<ReturnType<typeof openPlatform>>
let model: FakeModel
let relay: TextRelay
const stopping = new AbortController()

beforeAll(async () => {
  platform = await openPlatform()
  model = await startFakeModel()
  const crew = await platform.startCrew({ OPENAI_BASE_URL: model.baseUrl })
  await platform.deployAt(crew.url)
  relay = openTextRelay({ sql: platform.sql, log: silent })
})

afterEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(async () => {
  stopping.abort()
  relay.stop()
  await platform.stopServices()
  await platform.close()
  await model.stop()
})

/** Takes the next run and performs it, as the loop of a worker does. */
async function runNext(): Promise<string> {
  const never = new AbortController().signal
  const deps = {
    sql: platform.sql,
    log: silent,
    tracing: noTracing,
    progress: createProgressWriter({ together: [platform.sql], alone: platform.sql }),
    secretKeyBase: SECRET_KEY_BASE,
    readVariable: () => undefined,
    prices: () => [],
    crewPatienceMs: 1000,
    runTimeoutMs: 60_000,
    handFiles: createFileHandover(platform.sql),
    texts: relay,
  }
  return performRun(deps, await platform.takeOne(), { drain: never, pause: never, stopped: never })
}

/** Resolves once the relay has heard of all that was told before. */
async function heardOfFollowers(): Promise<void> {
  const last = randomUUID()
  const ended = new AbortController()
  let isHeard = false
  relay.attend(last, () => (isHeard = true), ended.signal)
  // More than once: the relay may still be connecting.
  const tellAgain = async (): Promise<boolean> => {
    await tellFollowed(platform.sql, [last])
    return isHeard
  }
  await expect.poll(tellAgain).toBe(true)
  ended.abort()
}

const together = (texts: readonly RunText[]): string => texts.map(({ text }) => text).join('')

it('brings what models write to those who follow the run, in order, and keeps none', async () => {
  const watch = createTextWatch({ sql: platform.sql, log: silent, stopping: stopping.signal })
  await heardOfFollowers()
  const id = await platform.kickoff()
  const heard: RunText[] = []
  const leave = watch.follow(id, (text) => heard.push(text))
  await tellFollowed(platform.sql, [id])
  await heardOfFollowers()
  // 1,100 characters are a part; the pair of the emoji stays together.
  const long = `${'é'.repeat(1099)}🙂"quoted"\n\u0001${'x'.repeat(3000)}`
  model.play(writes('The ', 'facts.'), writes(long))
  expect(await runNext()).toBe('completed')
  await expect.poll(() => together(heard)).toBe(`The facts.${long}`)
  leave()
  const [first, ...others] = heard
  expect(first).toMatchObject({ run: id, task: 'research', agent: 'researcher', offset: 0 })
  expect(others.at(-1)).toMatchObject({ task: 'write' })
  const ofLong = heard.filter(({ task }) => task === 'write')
  expect(ofLong.map(({ offset }) => offset)).toEqual(
    ofLong.map((_, index) => together(ofLong.slice(0, index)).length),
  )
  const types = (await platform.events(id)).map(({ type }) => type)
  expect(types).not.toContain('text_delta')
  expect(await platform.get(id)).toMatchObject({ output: long })
})

it('lets a model answer as a whole when nobody follows the run', async () => {
  model.requests.length = 0
  const id = await platform.kickoff()
  model.play(says('Facts.'), says('A summary.'))
  expect(await runNext()).toBe('completed')
  expect(await platform.get(id)).toMatchObject({ output: 'A summary.' })
  expect(model.requests.map(({ body }) => body['stream'])).toEqual([undefined, undefined])
})
