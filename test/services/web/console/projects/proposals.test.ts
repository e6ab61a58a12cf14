import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import { INTERNAL_DEFINITIONS } from '../../../../../services/platform/definitions/internal-crew-definitions.ts'
import { ensureInternalCrew } from '../../../../../services/platform/crews/internal-crews.ts'
import { markOnline } from '../../../../../services/platform/automations/automations.ts'
import { createLlmConnection } from '../../../../../services/platform/connections/llm-connections.ts'
import {
  createVersion,
  listVersions,
} from '../../../../../services/platform/projects/project-versions.ts'
import { createProject } from '../../../../../services/platform/projects/projects.ts'
import { listProposals } from '../../../../../services/platform/projects/proposals.ts'
import type { Proposal } from '../../../../../services/platform/projects/proposals.ts'
import { completeRun, failRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import { definition } from '../../../../support/crew.ts'
import { askAs } from '../../support/forms.ts'
import { openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>
let projectId: number
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  eve = askAs(platform.app, await platform.signIn(platform.rival))
})

beforeEach(async () => {
  await platform.sql`delete from executions`
  const project = { organizationId: platform.acme.organizationId, name: randomUUID() }
  projectId = (await createProject(platform.sql, project)).id
  path = `/projects/${projectId}`
})

afterAll(() => platform.close())

const key = () => ({ organizationId: platform.acme.organizationId, projectId })
const versions = () => listVersions(platform.sql, key(), { before: 1000, limit: 100 })
const REQUEST = 'A newsletter about {topic}'

async function ask(fields: Record<string, string> = {}): Promise<string> {
  const response = await ada.post(`${path}/proposals`, { request: REQUEST, ...fields })
  expect(response.status).toBe(303)
  return response.headers.get('location') ?? ''
}

/** Takes the run of the Assistant, as a worker does. */
async function take(): Promise<LeasedRun> {
  const [run, ...others] = await takeRuns(platform.sql, 2)
  if (!run || others.length > 0) throw new Error('not one run to take')
  return run
}

const usage = { inputTokens: 10, outputTokens: 20 }
async function answer(output: string): Promise<LeasedRun> {
  const run = await take()
  await completeRun(platform.sql, run, { output, usage })
  return run
}

const page = async (at: string): Promise<string> => (await ada.get(at)).text()
const only = async (): Promise<Proposal> => {
  const [proposal] = await listProposals(platform.sql, key())
  if (!proposal) throw new Error('no proposal')
  return proposal
}
const valid = (changes: Partial<CrewDefinition> = {}): string =>
  JSON.stringify({ ...definition, ...changes })

describe('an organization without an Assistant', () => {
  it('is told who installs it', async () => {
    const refused = await ada.post(`${path}/proposals`, { request: REQUEST })
    expect(refused.status).toBe(409)
    const said = await refused.text()
    expect(said).toContain('designer:agent:install')
    expect(said).toContain(REQUEST)
  })
})

describe('what the Assistant proposes', () => {
  beforeAll(async () => {
    const { id } = await ensureInternalCrew(platform.sql, 'assistant')
    await markOnline(platform.sql, id, 'http://127.0.0.1:9')
  })

  it('comes from a run of the organization, on the crew of the Assistant', async () => {
    const at = await ask()
    const run = await take()
    expect(run).toMatchObject({
      organizationId: platform.acme.organizationId,
      automationName: 'Assistant',
      url: 'http://127.0.0.1:9',
      inputs: { request: REQUEST, current: 'There is none yet.', correction: '' },
      definition: { tasks: INTERNAL_DEFINITIONS.assistant.tasks },
    })
    const shown = await page(at)
    expect(shown).toContain(`/automations/${run.automationId}/executions/${run.id}`)
    expect(shown).toContain(`data-live="${at}/live"`)
    expect((await eve.get(at)).status).toBe(404)
    const link = `/automations/${run.automationId}/executions/${run.id}`
    expect((await ada.get(link)).status).toBe(200)
  })

  it('is shown as a diff, and once accepted becomes a draft, which nothing runs', async () => {
    await createVersion(platform.sql, key(), definition)
    const at = await ask({ base: '1' })
    const changed = { ...definition, name: 'Better' }
    const run = await answer(`Here it is:\n\`\`\`json\n${JSON.stringify(changed)}\n\`\`\``)
    expect(JSON.parse(String(run.inputs['current']))).toEqual(definition)
    const shown = await page(at)
    expect(shown).toContain('Changes to version 1')
    expect(shown).toMatch(/<del class="diff-line"\s*>- {3}&quot;name&quot;: &quot;Research&quot;,</)
    expect(shown).toMatch(/<ins class="diff-line"\s*>\+ {3}&quot;name&quot;: &quot;Better&quot;,</)
    expect(shown).toContain('1 line added, 1 line removed')
    expect(shown).toContain('data-live=""')
    expect(await versions()).toHaveLength(1)
    for (const _ of [1, 2]) {
      const accepted = await ada.post(`${at}/accept`)
      expect(accepted.headers.get('location')).toBe(`${path}/versions/2?notice=draft-added`)
    }
    const entry = { action: 'proposal_accepted', after: { version: 2 } }
    expect((await platform.audit()).at(-1)).toMatchObject(entry)
    expect((await versions()).map(({ number, publishedAt }) => [number, publishedAt])).toEqual([
      [2, null],
      [1, null],
    ])
    expect((await versions())[0]?.definition).toEqual(changed)
    expect(await page(at)).toContain('version 2')
  })

  it('is asked for once more, with the problems, when the answer is no definition', async () => {
    const at = await ask()
    await answer('I would rather talk about the weather.')
    const [first, live] = [await page(at), await page(`${at}/live`)]
    expect(first).toContain('Asked once more, because of this:')
    expect(live).toContain('The definition is not valid JSON')
    const second = await answer(valid())
    expect(second.inputs['request']).toBe(REQUEST)
    expect(second.inputs['correction']).toContain('I would rather talk about the weather.')
    expect(second.inputs['correction']).toContain('The definition is not valid JSON')
    const shown = await page(at)
    expect(shown).toContain('The first version')
    expect(shown).toContain(`executions/${(await only()).runId}`)
    expect(await takeRuns(platform.sql, 10)).toEqual([])
  })

  it('is asked for twice at the most, and then says what is wrong', async () => {
    const at = await ask()
    await answer(valid({ tasks: [] }))
    await Promise.all([page(at), page(at), page(at)])
    await answer(valid({ agents: [] }))
    const shown = await page(at)
    expect(shown).toContain('The Assistant gave no definition that can be used:')
    expect(shown).toContain('agents: must not be empty')
    expect(shown).toContain(`${REQUEST}</textarea`)
    expect(await takeRuns(platform.sql, 10)).toEqual([])
    expect((await ada.post(`${at}/accept`)).status).toBe(409)
    expect(await versions()).toEqual([])
  })

  it('is a failure with a link to the connections when its model cannot be called', async () => {
    const at = await ask()
    const failure = { code: 'llm_rejected', message: 'api.example.com answered HTTP 401.' }
    await failRun(platform.sql, await take(), failure)
    const shown = await page(at)
    expect(shown).toContain(failure.message)
    expect(shown).toMatch(/<a href="\/llm-connections"/)
  })

  it('is not worked on any more once it is discarded', async () => {
    const at = await ask()
    expect((await ada.post(`${at}/discard`)).headers.get('location')).toBe(
      `${path}?notice=proposal-discarded`,
    )
    expect(await takeRuns(platform.sql, 1)).toEqual([])
    expect((await platform.audit()).at(-1)).toMatchObject({ action: 'proposal_discarded' })
    expect(await page(at)).toContain('no draft was added')
    expect((await ada.post(`${at}/accept`)).status).toBe(409)
  })

  it('is one run when the form is sent twice, and needs a request', async () => {
    const once = { start_once: randomUUID() }
    expect(await ask(once)).toBe(await ask(once))
    expect(await takeRuns(platform.sql, 10)).toHaveLength(1)
    for (const request of ['', ' ', 'x'.repeat(8001)]) {
      expect((await ada.post(`${path}/proposals`, { request })).status).toBe(422)
    }
    expect((await ada.post(`${path}/proposals`, { request: 'a\0b' })).status).toBe(422)
    expect((await eve.post(`${path}/proposals`, { request: REQUEST })).status).toBe(404)
  })

  it('is made with a model of the organization, which the crew may use as well', async () => {
    expect(await page(path)).toContain('Your organization has no LLM connection')
    const connection = { provider: 'openai', baseUrl: null, ...key() }
    const { projectId: _, ...fields } = connection
    for (const model of ['big-model', 'small-model']) {
      await createLlmConnection(platform.sql, { ...fields, name: model, model })
    }
    expect(await page(path)).not.toContain('Your organization has no LLM connection')
    await ask({ model: 'small-model' })
    const run = await answer(valid())
    expect(run.definition.llm).toEqual({ model: 'small-model' })
    expect(run.inputs['models']).toBe('big-model, small-model')
    await ask({ model: 'none of theirs' })
    expect((await take()).definition.llm).toEqual({ model: 'big-model' })
    await platform.sql`truncate llm_connections`
  })

  it('says so when the version that it changes is not the newest any more', async () => {
    await createVersion(platform.sql, key(), definition)
    const at = await ask({ base: '1' })
    await answer(valid({ name: 'Better' }))
    await createVersion(platform.sql, key(), definition)
    expect(await page(at)).toContain('Version 2 was added since.')
  })

  it('takes no project of the organization that has its name', async () => {
    const own = await createProject(platform.sql, {
      organizationId: platform.rival.organizationId,
      name: 'Assistant',
    })
    const theirs = await createProject(platform.sql, {
      organizationId: platform.rival.organizationId,
      name: 'Theirs',
    })
    await eve.post(`/projects/${theirs.id}/proposals`, { request: REQUEST })
    const rival = { organizationId: platform.rival.organizationId, projectId: own.id }
    expect(await listVersions(platform.sql, rival, { before: 10, limit: 10 })).toEqual([])
  })
})

describe('an answer of the Assistant that means harm', () => {
  const XSS = '</code></pre><script>alert(1)</script>'

  it('is shown as text', async () => {
    const at = await ask()
    await answer(valid({ name: `${XSS}\u202e` }))
    const shown = await page(at)
    expect(shown).not.toContain('<script>alert')
    expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩')
  })

  it('is shown as text where it is a problem, too', async () => {
    const at = await ask()
    await answer(JSON.stringify({ ...definition, [XSS]: 1 }))
    const shown = await page(at)
    expect(shown).toContain('is not known')
    expect(shown).not.toContain('<script>alert')
  })

  it.each([
    ['5 MB', () => valid({ name: 'x'.repeat(5_000_000) }), /has 50\d{5} bytes; 262144 are allowed/],
    [
      '10,000 agents without anything',
      () => JSON.stringify({ ...definition, agents: Array.from({ length: 10_000 }, () => ({})) }),
      /and \d{4,} more/,
    ],
    ['NUL', () => valid({ name: 'a\0b' }), /holds the character U\+0000/],
    ['a hundred levels', () => '{"a":'.repeat(100) + '1' + '}'.repeat(100), /nested deeper/],
    ['a member twice', () => valid().replace('{', '{"name":"other",'), /a member is there twice/],
  ])('is bounded and read as strictly as that of a person: %s', async (_, output, problem) => {
    const at = await ask()
    await answer(output())
    const shown = await page(at)
    expect(shown).toMatch(problem)
    expect(shown.length).toBeLessThan(40_000)
    const { secondRunId } = await only()
    const [run] = await takeRuns(platform.sql, 1)
    expect(run?.id).toBe(secondRunId)
    expect(JSON.stringify(run?.inputs).length).toBeLessThan(100_000)
  })

  it('publishes no tool at a private address, which no draft calls either', async () => {
    const tools = { inner: { type: 'mcp' as const, url: 'http://10.0.0.1/', tools: ['x'] } }
    const at = await ask()
    await answer(valid({ tools: { ...tools } }))
    expect(await page(at)).toContain('http://10.0.0.1/')
    await ada.post(`${at}/accept`)
    const published = await ada.post(`${path}/versions/1/publish`)
    expect(published.status).toBe(422)
    expect(await published.text()).toContain('tools.inner: ')
  })
})
