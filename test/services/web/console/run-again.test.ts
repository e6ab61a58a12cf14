import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import { countSteps } from '../../../../services/platform/runs/run-steps.ts'
import { stepBase, stepKey } from '../../../../services/platform/crew-contract/step-key.ts'
import { findRun, kickoff } from '../../../../services/platform/runs/runs.ts'
import type { Inputs } from '../../../../services/platform/definitions/input-declarations.ts'
import { startRuns } from '../support/console-states.ts'
import type { Ending } from '../support/console-states.ts'
import { openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser
let runs: Record<Ending, string>

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  runs = await startRuns(platform)
})

afterAll(() => platform.close())

const pageOf = (): string => `/automations/${platform.acme.research.automationId}`

async function read(path: string): Promise<string> {
  const response = await platform.app.request(path, { headers: { cookie: ada.cookie } })
  return (await response.text()).replace(/\s+/g, ' ')
}

const post = (path: string, fields: Record<string, string> = {}) =>
  platform.app.request(path, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: ada.csrfToken, ...fields }),
    headers: { cookie: ada.cookie },
  })

const inputsOf = async (location: string | null): Promise<Inputs | undefined> => {
  const id = /executions\/(.+)$/.exec(location ?? '')?.[1] ?? ''
  return (await findRun(platform.sql, platform.acme.research.id, id))?.inputs
}

describe('a run that is over', () => {
  it.each(['completed', 'failed', 'stopped'] as const)(
    'can be run again when %s',
    async (state) => {
      const path = `${pageOf()}/executions/${runs[state]}`
      const page = await read(path)
      expect(page).toContain(`action="${path}/again"`)
      expect(page).toContain(`href="${pageOf()}?from=${runs[state]}#run"`)
      const { headers, status } = await post(`${path}/again`)
      expect(status).toBe(303)
      expect(headers.get('location')).not.toContain(runs[state])
      expect(await inputsOf(headers.get('location'))).toEqual({
        topic: 'Heat pumps in Northern Europe',
      })
    },
  )

  it('is run again once by a double click, with exactly its inputs', async () => {
    const { sql, acme } = platform
    const inputs = { topic: { deep: [1, null, 'x'] } }
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs })
    const path = `${pageOf()}/executions/${id}/again`
    const form = { start_once: '11111111-1111-4111-8111-111111111111' }
    const twice = await Promise.all([post(path, form), post(path, form)])
    const [first, second] = twice.map(({ headers }) => headers.get('location'))
    expect(first).toBe(second)
    expect(await inputsOf(first ?? null)).toEqual(inputs)
  })

  it('fills the form of its automation, whatever its inputs were', async () => {
    const { sql, acme } = platform
    const inputs = { topic: { words: '"<b>"' } }
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs })
    const page = await read(`${pageOf()}?from=${id}`)
    expect(page).toContain('{&quot;words&quot;:&quot;\\&quot;&lt;b&gt;\\&quot;&quot;}</textarea>')
    const theirs = await kickoff(sql, {
      deploymentId: platform.rival.research.id,
      inputs: { topic: 'a secret of theirs' },
    })
    expect(await read(`${pageOf()}?from=${theirs}`)).not.toContain('secret')
  })

  it('says which input is missing when the automation asks for others now', async () => {
    const { sql, acme } = platform
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs: { other: 'x' } })
    const response = await post(`${pageOf()}/executions/${id}/again`)
    expect(response.status).toBe(422)
    expect(await response.text()).toContain('topic')
  })

  it('shows the command that runs it from a shell', async () => {
    const page = await read(`${pageOf()}/executions/${runs.failed}`)
    expect(page).toContain(
      '{&quot;inputs&quot;:{&quot;topic&quot;:&quot;Heat pumps in Northern Europe&quot;}}',
    )
  })
})

describe('the live part of a run', () => {
  const live = (id: string, headers: Record<string, string> = {}) =>
    platform.app.request(`${pageOf()}/executions/${id}/live`, {
      headers: { cookie: ada.cookie, ...headers },
    })

  it('is sent once: without news, the response is a 304 without a body', async () => {
    const first = await live(runs.running)
    expect(await first.text()).toContain('data-part="steps"')
    const etag = first.headers.get('etag') ?? ''
    const second = await live(runs.running, { 'if-none-match': etag })
    expect(second.status).toBe(304)
    expect(await second.text()).toBe('')
    expect(second.headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  it('says that nothing follows when the run is over', async () => {
    expect(await (await live(runs.completed)).text()).toContain('data-live=""')
  })

  it('belongs to those who may see the run', async () => {
    const path = `${pageOf()}/executions/${runs.running}/live`
    const rival = await platform.signIn(platform.rival)
    const answers = await Promise.all([
      platform.app.request(path),
      platform.app.request(path, { headers: { cookie: rival.cookie } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([303, 404])
  })
})

describe('the output of a run', () => {
  const download = (id: string) =>
    platform.app.request(`${pageOf()}/executions/${id}/output`, { headers: { cookie: ada.cookie } })

  it('is a file to download, as it was written', async () => {
    const markdown = await download(runs.completed)
    expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(markdown.headers.get('content-disposition')).toBe(
      `attachment; filename="run-${runs.completed}.md"`,
    )
    const json = await download(runs.json)
    expect(json.headers.get('content-disposition')).toMatch(/^attachment; .*\.json"$/)
    expect(await json.text()).toContain('"id":12345678901234567890')
    expect((await download(runs.failed)).status).toBe(404)
  })

  it('is shown as a document or a tree, or as it was written', async () => {
    const path = `${pageOf()}/executions/${runs.completed}`
    expect(await read(path)).toContain('<h3>Heat pumps in Northern Europe</h3>')
    const plain = await read(`${path}?view=raw`)
    expect(plain).toContain('# Heat pumps in Northern Europe')
    const json = `${pageOf()}/executions/${runs.json}`
    expect(await read(json)).toContain('<span class="json-value">12345678901234567890</span>')
    expect(await read(`${json}?view=raw`)).toContain('&quot;id&quot;:12345678901234567890')
  })
})

describe('many steps', () => {
  it('are shown from the newest on, with a link to earlier ones', async () => {
    const { sql } = platform
    await sql`
      insert into execution_events (execution_id, attempt, position, event)
      select ${runs.stopped}, 1, n, jsonb_build_object('type', 'note', 'number', 'n' || n)
      from generate_series(10, 1200) n`
    const path = `${pageOf()}/executions/${runs.stopped}`
    const newest = await read(path)
    expect(newest).toContain('>n1200<')
    expect(newest).not.toContain('>n700<')
    expect(newest).toContain('Show 692 earlier steps')
    const earlier = /href="([^"]+\?before=[^"]+)"/.exec(newest)?.[1] ?? ''
    const middle = await read(earlier)
    expect(middle).toContain('>n700<')
    expect(middle).toContain('Newest steps')
    expect(middle).toContain('Show 192 earlier steps')
  })
})

describe('a run that is over and has steps', () => {
  const at = new Date(0).toISOString()
  const later = new Date(9000).toISOString()

  /** A failed run whose first task has finished. */
  async function failedRun() {
    const { sql, acme } = platform
    const inputs = { topic: 'whales' }
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs })
    const run = (await takeRuns(sql, 100)).find((taken) => taken.id === id)
    if (!run) throw new Error('the run was not taken')
    const base = stepBase(run.projectVersionId, inputs)
    const task = (name: string) =>
      ({ key: stepKey(base, [name]), kind: 'task', name, path: [name] }) as const
    await recordProgress(sql, run, {
      events: [],
      steps: [
        { ...task('research'), state: 'finished', startedAt: at, endedAt: at, result: '<b>' },
        { ...task('write'), state: 'failed', startedAt: later, endedAt: later },
      ],
    })
    await failRun(sql, run, { code: 'llm_rejected', message: 'no' })
    return { run, path: `${pageOf()}/executions/${id}`, from: task('write').key }
  }

  const following = async (location: string | null) => {
    const id = /executions\/(.+)$/.exec(location ?? '')?.[1] ?? ''
    const run = await findRun(platform.sql, platform.acme.research.id, id)
    return { run, ...(await countSteps(platform.sql, id)) }
  }

  it('goes on from a step with the same inputs, or with others', async () => {
    const { run, path, from } = await failedRun()
    expect(await read(path)).toContain(`href="${path}/continue"`)
    const page = await read(`${path}/continue`)
    expect(page).toContain('research (task, finished)')
    expect(page).toContain('>whales</textarea>')
    const form = { start_once: '22222222-2222-4222-8222-222222222222', from_step: from }
    const retried = await post(`${path}/continue`, { ...form, 'input.topic': 'whales' })
    expect(retried.status).toBe(303)
    expect(await following(retried.headers.get('location'))).toMatchObject({
      run: { originId: run.id, originAction: 'retry', inputs: { topic: 'whales' } },
      carried: 1,
    })
    const shown = await read(retried.headers.get('location') ?? '')
    expect(shown).toMatch(/Retries run .*, and keeps 1 step of it/)
    const forked = await post(`${path}/continue`, { ...form, 'input.topic': 'otters' })
    expect(await following(forked.headers.get('location'))).toMatchObject({
      run: { originAction: 'fork', inputs: { topic: 'otters' } },
      carried: 1,
    })
    const again = await post(`${path}/continue`, { ...form, 'input.topic': 'whales' })
    expect(again.headers.get('location')).toBe(retried.headers.get('location'))
  })

  it('says what is wrong with the form, and keeps what was typed', async () => {
    const { path } = await failedRun()
    const refused = await post(`${path}/continue`, { 'input.topic': 'otters', from_step: 'no' })
    expect(refused.status).toBe(422)
    const page = await refused.text()
    expect(page).toContain('The run has no step')
    expect(page).toContain('>otters</textarea>')
    const forged = await post(`${path}/continue`, { 'input.topic': 'x', csrf_token: 'forged' })
    expect(forged.status).toBe(403)
  })
})
