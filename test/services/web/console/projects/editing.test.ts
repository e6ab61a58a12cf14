import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOwnAutomation } from '../../../../../services/platform/crews/own-crews.ts'
import { askAs, pressUndo } from '../../support/forms.ts'
import { openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const definition = {
  name: 'Letters',
  llm: { model: 'gpt-4o-mini' },
  agents: [{ key: 'editor', role: 'Editor', goal: 'Write about {topic}', max_iterations: 7 }],
  tasks: [
    { key: 'write', agent: 'editor', description: 'Write on {topic}.', expected_output: 'A page' },
  ],
}

let platform: Platform
let ada: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  eve = askAs(platform.app, await platform.signIn(platform.rival))
})

afterAll(() => platform.close())

const text = (given: unknown): string => JSON.stringify(given, null, 2)
const read = async (path: string): Promise<string> => (await ada.get(path)).text()
let made = 0

async function newProject(): Promise<string> {
  const response = await ada.post('/projects', { name: `Project ${(made += 1)}` })
  return response.headers.get('location') ?? ''
}

async function newDraft(given: object = definition): Promise<string> {
  const project = await newProject()
  await ada.post(`${project}/versions`, { definition: text(given) })
  return `${project}/versions/1`
}

/** What is stored of a version. */
const storedAt = async (path: string): Promise<typeof definition> =>
  JSON.parse(await read(`${path}/definition`))

const sinceOf = (page: string): string => /name="since" value="(\w+)"/.exec(page)?.[1] ?? ''

/** The fields of the form as the page shows them for the shared definition. */
const FIELDS = {
  name: 'Changed',
  'llm.model': 'other-model',
  'llm.temperature': '0.5',
  'llm.reasoning_effort': 'high',
  'agents.0.key': 'editor',
  'agents.0.role': 'Author',
  'agents.0.goal': 'Write well\r\nabout {topic}',
  'tasks.0.key': 'write',
  'tasks.0.agent': 'editor',
  'tasks.0.description': 'Write about {topic}.',
  'tasks.0.expected_output': 'A page',
  'tasks.0.human_input': 'on',
  'tasks.0.decide_within_minutes': '120',
  'tasks.0.undecided': 'approve',
}

describe('the editor of a version', () => {
  it('saves what its form says, and keeps what the form has no field for', async () => {
    const path = await newDraft()
    const form = { ...FIELDS, act: 'save-form', base: text(definition) }
    expect((await ada.post(path, form)).status).toBe(303)
    expect(await storedAt(path)).toMatchObject({
      name: 'Changed',
      llm: { model: 'other-model', temperature: 0.5, reasoning_effort: 'high' },
      agents: [{ role: 'Author', goal: 'Write well\nabout {topic}', max_iterations: 7 }],
      tasks: [
        {
          description: 'Write about {topic}.',
          human_input: true,
          decide_within_minutes: 120,
          undecided: 'approve',
        },
      ],
    })
  })

  it('adds, moves and removes entries without a script, and saves nothing meanwhile', async () => {
    const path = await newDraft()
    const form = { ...FIELDS, base: text(definition) }
    const more = await (await ada.post(path, { ...form, act: 'add-agents' })).text()
    expect(more).toContain('These changes are not saved yet.')
    expect(more).toContain('name="agents.1.key"')
    expect(more).toContain('agents[1].role: must not be empty')
    const none = await (await ada.post(path, { ...form, act: 'remove-tasks.0' })).text()
    expect(none).not.toContain('name="tasks.0.key"')
    for (const act of ['up-agents.99', 'remove-tools.5', 'add-x', 'up-agents.0', '../../x']) {
      expect((await ada.post(path, { ...form, act })).status).toBe(200)
    }
    expect(await storedAt(path)).toEqual(definition)
  })

  it('keeps every tool, whether they have no key yet or the same one', async () => {
    const path = await newDraft()
    const one = await (
      await ada.post(path, { ...FIELDS, base: text(definition), act: 'add-tools' })
    ).text()
    expect(one).toContain('name="tools.0.key"')
    const base = text({ ...definition, tools: { '': { type: 'time' } } })
    const typed = { 'tools.0.key': '', 'tools.0.value': '{"type": "time"}' }
    const two = await (await ada.post(path, { ...FIELDS, ...typed, base, act: 'add-tools' })).text()
    expect(two).toContain('name="tools.1.key"')
    const both = text({ ...definition, tools: { a: { type: 'time' }, b: { type: 'calculator' } } })
    const same = { 'tools.0.key': 'a', 'tools.0.value': '{"type": "time"}' }
    const twice = { ...same, 'tools.1.key': 'a', 'tools.1.value': '{"type": "calculator"}' }
    await ada.post(path, { ...FIELDS, ...twice, base: both, act: 'save-form' })
    expect(await storedAt(path)).toMatchObject({
      tools: { a: { type: 'time' }, a_2: { type: 'calculator' } },
    })
  })

  it('answers its script with the other side, and the messages of the API', async () => {
    const project = await newProject()
    const given = text({ ...definition, name: '', agents: [{ key: 'a"><script>', role: 'R' }] })
    const response = await ada.post(`${project}/editor`, { act: 'show-text', definition: given })
    const answer: unknown = await response.json()
    expect(answer).toMatchObject({
      fields: expect.stringContaining('a&quot;&gt;&lt;script&gt;'),
      list: expect.stringContaining('agents[0]: goal is required'),
      problems: expect.stringMatching(/\d problems/),
    })
    for (const definition of ['', '[]', '{"a":', '{"agents": 5, "llm": [], "tools": "x"}']) {
      const odd = await ada.post(`${project}/editor`, { act: 'show-text', definition })
      expect(odd.status).toBe(200)
    }
    const long = text({ ...definition, name: 'x'.repeat(2_000_000) })
    const refused = await ada.post(`${project}/editor`, { act: 'show-text', definition: long })
    const { list } = await readObject(refused)
    expect(list).toMatch(/The definition has 2000\d{3} bytes; \d+ are allowed\./)
    expect((await eve.post(`${project}/editor`, { definition: given })).status).toBe(404)
  })

  it('tells with 409 what somebody else changed, and loses nothing', async () => {
    const path = await newDraft()
    const since = sinceOf(await read(path))
    const theirs = { ...definition, name: 'Theirs' }
    expect((await ada.post(path, { definition: text(theirs), since })).status).toBe(303)
    const mine = text({ ...definition, name: 'Mine' })
    const refused = await ada.post(path, { definition: mine, since })
    expect(refused.status).toBe(409)
    const page = await refused.text()
    expect(page).toContain('The draft was changed since you opened it')
    expect(page).toMatch(/<del[^>]*>- {3}&quot;name&quot;: &quot;Theirs&quot;/)
    expect(page).toMatch(/<ins[^>]*>\+ {3}&quot;name&quot;: &quot;Mine&quot;/)
    expect((await storedAt(path)).name).toBe('Theirs')
    const published = await ada.post(`${path}/publish`, { since })
    expect([published.status, await published.text()]).toEqual([
      409,
      expect.stringContaining('Look at it, and publish it again.'),
    ])
    const again = { definition: mine, since: sinceOf(page) }
    expect((await ada.post(path, again)).status).toBe(303)
    expect((await storedAt(path)).name).toBe('Mine')
  })
})

describe('a version', () => {
  it('is published with a note, which lists show', async () => {
    const path = await newDraft()
    const long = await ada.post(`${path}/publish`, { note: 'x'.repeat(1001) })
    expect([long.status, await long.text()]).toEqual([
      422,
      expect.stringContaining('at most 1000 characters'),
    ])
    await ada.post(`${path}/publish`, { note: ' Shorter <b>answers</b> ' })
    for (const page of [path, path.replace(/\/versions.*/, '')]) {
      expect(await read(page)).toContain('Shorter &lt;b&gt;answers&lt;/b&gt;')
    }
  })

  it('is compared with any other one', async () => {
    const path = await newDraft()
    const project = path.replace(/\/versions.*/, '')
    const other = { ...definition, name: 'Second' }
    await ada.post(`${project}/versions`, { definition: text(other) })
    expect(await read(`${project}/compare`)).toMatch(
      /<ins[^>]*>\+ {3}&quot;name&quot;: &quot;Second/,
    )
    expect(await read(`${project}/compare?from=2&to=1`)).toMatch(
      /<del[^>]*>- {3}&quot;name&quot;: &quot;Second/,
    )
    expect(await read(`${project}/compare?from=1&to=1`)).toContain('They are the same')
    expect(await read(`${project}/compare?from=99&to=-1`)).toContain('Compare versions')
    expect((await eve.get(`${project}/compare`)).status).toBe(404)
    expect((await ada.get(`${await newProject()}/compare`)).status).toBe(404)
  })

  it('is deleted while it is a draft, after a question', async () => {
    const path = await newDraft()
    expect(await read(`${path}/delete`)).toContain('Delete the draft 1?')
    expect((await eve.post(`${path}/delete`)).status).toBe(404)
    expect((await ada.post(`${path}/delete`)).status).toBe(303)
    expect((await ada.get(path)).status).toBe(404)
    expect((await ada.post(`${path}/delete`)).status).toBe(404)
    const published = await newDraft()
    await ada.post(`${published}/publish`)
    expect((await ada.post(`${published}/delete`)).status).toBe(409)
  })
})

describe('a project', () => {
  it('is renamed and duplicated, with names that are free', async () => {
    const path = await newDraft()
    const project = path.replace(/\/versions.*/, '')
    await ada.post('/projects', { name: 'Taken' })
    for (const verb of ['rename', 'duplicate']) {
      for (const [name, status, why] of [
        ['', 422, 'The name must have'],
        ['a\u0007', 422, 'The name must have'],
        ['x'.repeat(201), 422, 'The name must have'],
        ['Taken', 409, 'Your organization has a project of that name.'],
      ] as const) {
        const refused = await ada.post(`${project}/${verb}`, { name })
        expect([refused.status, await refused.text()]).toEqual([
          status,
          expect.stringContaining(why),
        ])
      }
    }
    const named = /class="break">(.*)<\/h1>/.exec(await read(project))?.[1]
    const renamed = await ada.post(`${project}/rename`, { name: 'Renamed' })
    expect(await read(project)).toContain('Renamed</h1>')
    expect((await pressUndo(ada, renamed))['name']).toBe(named)
    expect(await read(project)).toContain(`${named}</h1>`)
    const copy = (await ada.post(`${project}/duplicate`, { name: 'The copy' })).headers
    const [at = ''] = (copy.get('location') ?? '').split('?')
    expect(await storedAt(`${at}/versions/1`)).toEqual(definition)
  })

  it('is archived and brought back, and takes no version meanwhile', async () => {
    const path = await newDraft()
    const project = path.replace(/\/versions.*/, '')
    await ada.post(`${project}/archive`)
    expect(await read('/projects')).not.toContain(`href="${project}"`)
    expect(await read('/projects?state=archived')).toContain(`href="${project}"`)
    expect((await ada.get(`${project}/new-version`)).status).toBe(409)
    const refused = await ada.post(`${project}/versions`, { definition: text(definition) })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('This project is archived.'),
    ])
    const back = await ada.post(`${project}/unarchive`)
    expect((await ada.get(`${project}/new-version`)).status).toBe(200)
    await pressUndo(ada, back)
    expect((await ada.get(`${project}/new-version`)).status).toBe(409)
  })

  it('is deleted with its versions', async () => {
    const path = await newDraft()
    const project = path.replace(/\/versions.*/, '')
    expect((await ada.post(`${project}/delete`)).status).toBe(303)
    expect((await ada.get(project)).status).toBe(404)
    const published = await newDraft()
    await ada.post(`${published}/publish`)
    const gone = await ada.post(published.replace(/\/versions.*/, '/delete'))
    expect(gone.status).toBe(303)
  })

  it('that is made from a source offers no version to write', async () => {
    const { organizationId } = platform.acme
    await createOwnAutomation(platform.sql, { organizationId, name: 'From source' })
    const [{ id }] = await platform.sql<[{ id: number }]>`
      select id from projects where name = 'From source'`
    const page = await read(`/projects/${id}`)
    expect(page).toContain('Made from a source')
    expect(page).not.toMatch(/Write a version|Ask the Assistant/)
    expect((await ada.get(`/projects/${id}/new-version`)).status).toBe(409)
  })
})
