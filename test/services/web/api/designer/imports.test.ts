import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentJson, crewJson } from '../../../platform/projects/crewai/project.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { zip } from '../../../../support/zip.ts'
import type { ZipEntry } from '../../../../support/zip.ts'

let platform: Platform
let token: string
let rivalToken: string
let project: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  const created = await platform.app.request(`${BASE_URL}/designer/v2/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Imports' }),
  })
  project = `/projects/${String((await readObject(created))['id'])}`
})

afterAll(() => platform.close())

interface Import {
  readonly query?: string
  readonly type?: string | undefined
  readonly as?: string
}

async function send(body: Buffer | string | FormData, given: Import = {}) {
  const { query = '', type, as = token } = given
  const response = await platform.app.request(`${BASE_URL}/designer/v2${project}/imports${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, ...(type ? { 'content-type': type } : {}) },
    body,
  })
  return { ...(await readObject(response)), status: response.status, headers: response.headers }
}

const FILES = { 'crew.jsonc': crewJson(), 'agents/writer.jsonc': agentJson() }
const WITH_TOOL = { ...FILES, 'agents/writer.jsonc': agentJson({ tools: ['SerperDevTool'] }) }

const sendJson = (files: unknown, query = '') =>
  send(JSON.stringify({ files }), { query, type: 'application/json' })
const entriesOf = (files: Readonly<Record<string, string>>): ZipEntry[] =>
  Object.entries(files).map(([name, content]) => ({ name, content }))
const sendZip = (entries: readonly ZipEntry[], query = '') =>
  send(zip(entries), { query, type: 'application/zip' })

function formOf(files: Readonly<Record<string, string | Buffer>>): FormData {
  const form = new FormData()
  for (const [path, content] of Object.entries(files)) {
    form.append('project', new Blob([content]), path)
  }
  return form
}

describe('the import of a project (POST …/imports)', () => {
  it('adds a draft, with what was not taken over', async () => {
    const answer = await sendJson({ ...FILES, '.env': 'X=1' })
    expect(answer).toMatchObject({
      status: 201,
      number: 1,
      definition: { name: 'Reports', tasks: [{ key: 'report' }] },
      problems: [{ file: '.env', key: '', level: 'note', message: expect.any(String) }],
    })
    expect(answer.headers.get('location')).toBe(`/designer/v2${project}/versions/1`)
    expect(answer).toMatchObject({ published_at: null })
  })

  it('takes the same of an archive, of an archive in a form, and of files in a form', async () => {
    const archived = entriesOf({ ...FILES, 'node_modules/x.json': '{', 'logo.png': 'x' })
    const expected = (await sendJson(FILES, '?dry_run=true')) as { definition?: unknown }
    expect(expected.definition).toMatchObject({ name: 'Reports' })
    for (const answer of [
      await sendZip(archived, '?dry_run=true'),
      await send(formOf({ 'project.zip': zip(archived) }), { query: '?dry_run=true' }),
      await send(formOf(FILES), { query: '?dry_run=true' }),
    ]) {
      expect(answer).toMatchObject({ status: 200, definition: expected.definition, problems: [] })
    }
  })

  it('leaves out only what the caller accepts to miss', async () => {
    const problems = [{ file: 'agents/writer.jsonc', key: 'tools[0]', level: 'left_out' }]
    expect(await sendJson(WITH_TOOL)).toMatchObject({
      status: 422,
      detail: expect.stringMatching(/With leave_out=true/),
      details: { problems },
    })
    expect(await sendJson(WITH_TOOL, '?dry_run=true')).toMatchObject({
      status: 200,
      problems,
      refusal: expect.stringMatching(/without what one problem is about/),
    })
    expect(await sendJson(WITH_TOOL, '?leave_out=true')).toMatchObject({ status: 201, problems })
  })

  it('adds nothing for a project that is refused, or when it is only tried', async () => {
    const before = await platform.sql`select count(*)::int as n from project_versions`
    expect(await sendJson({ 'crew.jsonc': '{' }, '?leave_out=true')).toMatchObject({
      status: 422,
      details: { problems: [{ file: 'crew.jsonc', level: 'refused' }] },
    })
    await sendJson(FILES, '?dry_run=true')
    expect(await platform.sql`select count(*)::int as n from project_versions`).toEqual(before)
  })

  it('is for projects of the organization only', async () => {
    const body = JSON.stringify({ files: FILES })
    const type = 'application/json'
    expect(await send(body, { type, as: rivalToken })).toMatchObject({ status: 404 })
    expect(await send(body, { type, as: 'nobody' })).toMatchObject({ status: 401 })
  })

  it.each([
    [
      'a path that leads out',
      { name: '../crew.jsonc', content: '{}' },
      { status: 400, detail: /damaged/ },
    ],
    [
      'an absolute path',
      { name: '/etc/crew.jsonc', content: '{}' },
      { status: 400, detail: /damaged/ },
    ],
    [
      'a symbolic link',
      { name: 'crew.jsonc', content: '/x', mode: 0o120777 },
      { status: 400, detail: /symbolic/ },
    ],
    [
      'a key',
      { name: 'crew.jsonc', content: 'x', isEncrypted: true },
      { status: 400, detail: /encrypted/ },
    ],
    [
      'a lie',
      { name: 'a.txt', content: Buffer.alloc(1e6), size: 10 },
      { status: 400, detail: /damaged/ },
    ],
    [
      'a bomb',
      { name: 'a.txt', content: Buffer.alloc(4e6) },
      { status: 413, detail: /2097152 bytes/ },
    ],
  ])('refuses an archive with %s', async (_, entry, { status, detail }) => {
    const answer = await sendZip([...entriesOf(FILES), entry])
    expect(answer).toMatchObject({ status, detail: expect.stringMatching(detail) })
  })

  it('refuses an archive with many files, with one twice, and one that is cut off', async () => {
    const many = Array.from({ length: 1100 }, (_, index) => ({ name: `${index}.md`, content: '' }))
    expect(await sendZip(many)).toMatchObject({ status: 413 })
    const twice = [...entriesOf(FILES), ...entriesOf(FILES)]
    expect(await sendZip(twice)).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/crew.jsonc twice/),
    })
    const cut = zip(entriesOf(FILES)).subarray(0, -40)
    expect(await send(cut, { type: 'application/zip' })).toMatchObject({ status: 400 })
  })

  it.each([
    [
      'a body of another kind',
      { body: 'x', type: 'text/plain' },
      { status: 415, detail: /application\/zip/ },
    ],
    [
      'JSON without files',
      { body: '{}', type: 'application/json' },
      { status: 422, detail: /"files"/ },
    ],
    [
      'JSON with bytes',
      { body: '{"files":{"a":1}}', type: 'application/json' },
      { status: 422, detail: /"files"/ },
    ],
    [
      'a form without a boundary',
      { body: 'x', type: 'multipart/form-data' },
      { status: 400, detail: /boundary/ },
    ],
    [
      'no archive',
      { body: 'hello', type: 'application/zip' },
      { status: 400, detail: /neither a ZIP archive nor/ },
    ],
    [
      'too much',
      { body: Buffer.alloc(3_000_000), type: 'application/zip' },
      { status: 413, detail: /at most 2097152 bytes/ },
    ],
  ])('refuses %s', async (_, { body, type }, { status, detail }) => {
    const answer = await send(body, { type })
    expect(answer).toMatchObject({ status, detail: expect.stringMatching(detail) })
  })

  it('refuses forms with another archive, and paths that lead out', async () => {
    const tar = formOf({ 'project.tar.gz': Buffer.from([0x1f, 0x8b, 8, 0]) })
    expect(await send(tar)).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/a gzip archive: send a ZIP one/),
    })
    const out = formOf({ ...FILES, '../x.json': '{}' })
    expect(await send(out)).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/must be relative/),
    })
    expect(await sendJson({ ...FILES, '/x.json': '{}' })).toMatchObject({ status: 400 })
  })

  it.each(['?dry_run=1', '?leave_out=true&leave_out=true'])('refuses %s', async (query) => {
    expect(await sendJson(FILES, query)).toMatchObject({ status: 400 })
  })
})
