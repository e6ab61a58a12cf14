import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import { parseCrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import { deleteUnusedFiles } from '../../../../../services/platform/runs/input-files.ts'
import { loadFiles } from '../../../../../services/platform/runs/run-files.ts'
import { deleteExpiredRuns } from '../../../../../services/platform/runs/run-retention.ts'
import { findRun } from '../../../../../services/platform/runs/runs.ts'
import { definition } from '../../../../support/crew.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'

const crew = parseCrewDefinition({
  ...definition,
  inputs: [
    { name: 'topic', default: 'tides' },
    { name: 'report', type: 'file', label: 'Report' },
    { name: 'photo', type: 'file', required: false },
  ],
})
const PNG = Buffer.from('89504e470d0a1a0a00', 'hex')
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

let platform: Platform
let ada: SignedInUser
let automation: Automation
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  const { organizationId } = platform.acme
  automation = await deployAutomation(platform.sql, organizationId, { slug: 'reader', crew })
  token = await platform.issueToken(platform.acme)
})

beforeEach(async () => {
  await platform.sql`delete from executions`
  await platform.sql`delete from input_files`
})

afterAll(() => platform.close())

const api = (path: string, of = automation) => `/platform/api/v1/crew/${of.automationId}/${path}`
const post = async (
  path: string,
  body: string | Buffer | FormData,
  headers: Record<string, string> = {},
) =>
  platform.app.request(path, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })

/** The head of a program for Linux: neither a text nor a document. */
const PROGRAM = Buffer.from('7f454c46020101ff', 'hex')

const send = (name: string, body: string | Buffer | FormData, of = automation) =>
  post(api(`files?name=${encodeURIComponent(name)}`, of), body, { 'content-type': 'text/plain' })

const sendForm = (files: readonly [field: string, name: string, content: string | Buffer][]) => {
  const form = new FormData()
  for (const [field, name, content] of files) {
    form.append(field, new File([content], name, { type: 'text/csv' }))
  }
  return post(api('files'), form)
}

const idOf = async (answer: Response): Promise<string> =>
  String((await readObject(answer))['file_id'])

const start = (inputs: object, of = automation) =>
  post(api('kickoff', of), JSON.stringify({ inputs }), { 'content-type': 'application/json' })

async function started(answer: Response) {
  const id = String((await readObject(answer))['kickoff_id'])
  const run = await findRun(platform.sql, automation.id, id)
  if (!run) throw new Error('no run')
  return run
}

const filesLeft = async (): Promise<number> => {
  const [row] = await platform.sql<[{ count: number }]>`
    select count(*)::int as count from input_files`
  return row.count
}

describe('POST files', () => {
  it('stores a file, and says what it is', async () => {
    const answer = await send('../Sales May.csv', 'a;b\n1;2\n')
    expect(answer.status).toBe(201)
    expect(await readObject(answer)).toEqual({
      file_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Sales May.csv',
      size: 8,
      sha256: createHash('sha256').update('a;b\n1;2\n').digest('hex'),
      media_type: 'text/plain',
    })
  })

  it('takes a form as well, and the same file once', async () => {
    const answer = await sendForm([['file', 'a.csv', 'a;b']])
    const first = await readObject(answer.clone())
    expect(first).toMatchObject({ name: 'a.csv', media_type: 'text/csv' })
    const again = await Promise.all([1, 2].map(() => sendForm([['file', 'a.csv', 'a;b']])))
    for (const each of again) expect(await idOf(each)).toBe(first['file_id'])
    expect(await idOf(await sendForm([['file', 'b.csv', 'a;b']]))).not.toBe(first['file_id'])
    expect(await filesLeft()).toBe(2)
  })

  it('takes 20 MiB and not a byte more', async () => {
    const most = Buffer.alloc(20 * 1024 * 1024, 'x')
    const id = await idOf(await send('big.txt', most))
    const run = await started(await start({ report: { file_id: id } }))
    const { [id]: file } = await loadFiles(platform.sql, { runId: run.id })
    expect(Buffer.from(file?.content_base64 ?? '', 'base64').equals(most)).toBe(true)
    const more = await send('big.txt', Buffer.concat([most, Buffer.from('x')]))
    expect(more.status).toBe(413)
  })

  it.each<[string, () => Promise<Response>, number, string]>([
    ['without a name', () => post(api('files'), 'x'), 400, 'Name the file: …/files?name='],
    ['that is empty', () => send('a.txt', ''), 422, 'The file a.txt is empty.'],
    ['that is a program', () => send('a.bin', PROGRAM), 422, 'Agents work with'],
    [
      'in a form without one',
      () => sendForm([]),
      400,
      'The form has one file, in the field "file".',
    ],
    ['in another field', () => sendForm([['other', 'a.csv', 'x']]), 400, 'The form has one file'],
    [
      'with another one',
      () =>
        sendForm([
          ['file', 'a', 'x'],
          ['file', 'b', 'y'],
        ]),
      400,
      'The form has one file',
    ],
    [
      'in a form that is cut off',
      () => post(api('files'), '--x\r\n', { 'content-type': 'multipart/form-data; boundary=x' }),
      400,
      'The form cannot be read',
    ],
    [
      'in a form without a boundary',
      () => post(api('files'), 'x', { 'content-type': 'multipart/form-data' }),
      400,
      'names no boundary',
    ],
  ])('refuses a file %s', async (...[, call, status, message]) => {
    const answer = await call()
    expect(answer.status).toBe(status)
    expect((await readObject(answer))['message']).toContain(message)
    expect(await filesLeft()).toBe(0)
  })

  it('keeps no more than 5 GiB for an organization', async () => {
    const { organizationId, research } = platform.acme
    await platform.sql`
      insert into input_files (organization_id, deployment_id, name, media_type, size, sha256)
      select ${organizationId}, ${research.id}, 'f' || n, 'text/plain', 20971520,
        sha256(n::text::bytea) from generate_series(1, 256) n`
    const answer = await send('one-more.txt', 'x')
    expect(answer.status).toBe(413)
    expect((await readObject(answer))['message']).toContain('Files are deleted with the runs')
    expect(await filesLeft()).toBe(256)
  })

  it('asks for a token of this automation', async () => {
    const path = api('files?name=a.txt')
    expect((await platform.app.request(path, { method: 'POST', body: 'x' })).status).toBe(401)
  })
})

describe('an input that is a file', () => {
  it('names a file by its id, or by the whole answer to its upload', async () => {
    const file = await readObject(await send('a.txt', 'Hello'))
    const id = String(file['file_id'])
    for (const report of [{ file_id: id }, id, id.toUpperCase(), file]) {
      const run = await started(await start({ report }))
      expect(run.inputs).toEqual({ topic: 'tides', report: file, photo: '' })
      expect(await loadFiles(platform.sql, { runId: run.id })).toEqual({
        [id]: {
          name: 'a.txt',
          media_type: 'text/plain',
          size: 5,
          content_base64: Buffer.from('Hello').toString('base64'),
        },
      })
    }
  })

  it.each<[string, unknown, string]>([
    ['a text', 'hello', 'report must be a file that was sent to this automation'],
    ['an object without an id', { id: UNKNOWN }, 'report must be a file'],
    ['an id that is none', { file_id: '1' }, 'report must be a file'],
    ['an unknown file', { file_id: UNKNOWN }, 'report names no file of this automation.'],
  ])('is refused when it is %s', async (_, report, message) => {
    const answer = await start({ report })
    expect(answer.status).toBe(422)
    const body = await readObject(answer)
    expect(body['message']).toContain(message)
    expect(body['details']).toMatchObject({ invalid_inputs: [{ name: 'report' }] })
  })

  it('is missing like any other input', async () => {
    expect((await readObject(await start({})))['message']).toBe('These inputs are missing: report.')
  })

  it('names no file of another automation', async () => {
    const id = await idOf(await send('a.txt', 'Hello', platform.acme.research))
    expect((await start({ report: id })).status).toBe(422)
  })

  it('has at most 20 MiB together with the others of its run', async () => {
    const [one, two] = await Promise.all([
      idOf(await send('one.txt', Buffer.alloc(11 * 1024 * 1024, 'x'))),
      idOf(await send('two.txt', Buffer.alloc(11 * 1024 * 1024, 'y'))),
    ])
    const answer = await start({ report: one, photo: two })
    expect(answer.status).toBe(422)
    expect((await readObject(answer))['message']).toContain('at most 20971520 bytes together')
    expect((await start({ report: one, photo: one })).status).toBe(202)
  })

  it.each(['default', 'enum'])('has no %s', (key) => {
    const values = { default: UNKNOWN, enum: [UNKNOWN] }
    const input = { name: 'f', type: 'file', [key]: values[key as keyof typeof values] }
    expect(() => parseCrewDefinition({ ...definition, inputs: [input] })).toThrow(
      'inputs[0]: a file can have neither a default nor an enum',
    )
  })
})

describe('a file', () => {
  const age = (id: string) =>
    platform.sql`update input_files set created_at = now() - interval '25 hours' where id = ${id}`

  it('is kept for a day, and as long as a run that names it', async () => {
    const id = await idOf(await send('a.txt', 'Hello'))
    const unused = await idOf(await send('b.txt', 'Hello'))
    expect(await deleteUnusedFiles(platform.sql)).toBe(0)
    const run = await started(await start({ report: id }))
    await Promise.all([age(id), age(unused)])
    expect(await deleteUnusedFiles(platform.sql)).toBe(1)
    expect((await start({ report: unused })).status).toBe(422)
    await platform.sql`
      update executions set status = 'stopped', finished_at = now() - interval '93 days'
      where id = ${run.id}`
    await deleteExpiredRuns(platform.sql, { days: 90 })
    expect(await deleteUnusedFiles(platform.sql)).toBe(1)
    expect(await filesLeft()).toBe(0)
    const [parts] = await platform.sql`select count(*)::int as count from input_file_parts`
    expect(parts).toEqual({ count: 0 })
  })

  it('is kept by runs that follow another one', async () => {
    const id = await idOf(await send('a.txt', 'Hello'))
    const run = await started(await start({ report: id }))
    await post(api(`stop/${run.id}`), '')
    const again = async (action: string, body: object) => {
      const answer = await post(api(`runs/${run.id}/${action}`), JSON.stringify(body), {
        'content-type': 'application/json',
      })
      return started(answer)
    }
    const followers = [
      await again('retry', {}),
      await again('rerun', {}),
      await again('fork', { inputs: { topic: 'waves', report: id } }),
    ]
    for (const follower of followers) {
      expect(Object.keys(await loadFiles(platform.sql, { runId: follower.id }))).toEqual([id])
    }
  })
})

describe('the form that starts a run with files', () => {
  const path = () => `/automations/${automation.automationId}`
  const submit = (parts: Record<string, string | File>, to = `${path()}/executions`) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ csrf_token: ada.csrfToken, ...parts })) {
      form.append(name, value)
    }
    return platform.app.request(to, { method: 'POST', body: form, headers: { cookie: ada.cookie } })
  }
  const none = () => new File([], '')
  const runOf = async (answer: Response) => {
    expect(answer.status).toBe(303)
    const id = answer.headers.get('location')?.split('/').at(-1) ?? ''
    const run = await findRun(platform.sql, automation.id, id)
    if (!run) throw new Error('no run')
    return run
  }
  const read = async (at: string) => {
    const answer = await platform.app.request(at, { headers: { cookie: ada.cookie } })
    return (await answer.text()).replace(/\s+/g, ' ')
  }

  it('sends them along, without a script', async () => {
    const page = await read(path())
    expect(page).toContain('enctype="multipart/form-data"')
    expect(page).toContain('<input type="file" name="input.report" required />')
    expect(page).toContain('<input type="file" name="input.photo" />')
    const report = new File(['a;b'], 'may.csv', { type: 'text/csv' })
    const photo = new File([PNG], 'photo.png')
    const answer = await submit({ 'input.report': report, 'input.photo': photo, 'input.topic': '' })
    const run = await runOf(answer)
    expect(run.inputs).toMatchObject({
      topic: 'tides',
      report: { name: 'may.csv', size: 3, media_type: 'text/csv' },
      photo: { name: 'photo.png', media_type: 'image/png' },
    })
    expect(await read(answer.headers.get('location') ?? '')).toContain('may.csv, 3 bytes')
  })

  it('keeps a file that came with a refused form, and one of an earlier run', async () => {
    const report = new File(['a;b'], 'may.csv')
    const stale = { 'input.report': report, 'input.photo': none(), 'input.gone': 'x' }
    const refused = await submit(stale)
    expect(refused.status).toBe(422)
    const [, value = ''] = /type="hidden" name="input.report" value="([^"]+)"/.exec(
      (await refused.text()).replace(/\s+/g, ' '),
    ) ?? ['', '']
    const kept = value.replaceAll('&quot;', '"')
    const run = await runOf(await submit({ 'input.report': kept, 'input.photo': none() }))
    expect(run.inputs).toMatchObject({ report: { name: 'may.csv' }, photo: '' })
    const from = await read(`${path()}?from=${run.id}`)
    expect(from).toContain('may.csv, 3 bytes is kept unless you choose another file.')
    const other = new File(['c'], 'june.csv')
    const fields = { 'input.report': kept, 'input.photo': none() }
    const form = new FormData()
    for (const [name, each] of Object.entries({ csrf_token: ada.csrfToken, ...fields })) {
      form.append(name, each)
    }
    form.append('input.report', other)
    const answer = await platform.app.request(`${path()}/executions`, {
      method: 'POST',
      body: form,
      headers: { cookie: ada.cookie },
    })
    expect((await runOf(answer)).inputs).toMatchObject({ report: { name: 'june.csv' } })
  })

  it('starts one run for a double click', async () => {
    const twice = async () => {
      const report = new File(['a;b'], 'may.csv')
      const answer = await submit({ start_once: UNKNOWN, 'input.report': report })
      return (await runOf(answer)).id
    }
    const [one, two] = await Promise.all([twice(), twice()])
    expect(one).toBe(two)
  })

  it('says what is wrong with a file', async () => {
    const answer = await submit({ 'input.report': new File([PROGRAM], 'a.bin') })
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain('The file a.bin cannot be used')
    const missing = await submit({ 'input.report': none() })
    expect(await missing.text()).toContain('report must be a file')
  })

  it('is refused without the token of its page, before anything is stored', async () => {
    const report = new File(['a;b'], 'may.csv')
    expect((await submit({ csrf_token: 'x', 'input.report': report })).status).toBe(403)
    expect(await filesLeft()).toBe(0)
  })

  it('goes on from a step with the file of the run', async () => {
    const report = new File(['a;b'], 'may.csv')
    const run = await runOf(await submit({ 'input.report': report }))
    await post(api(`stop/${run.id}`), '')
    const at = `${path()}/executions/${run.id}/continue`
    const page = await read(at)
    const [, value = ''] = /name="input.report" value="([^"]+)"/.exec(page) ?? []
    const kept = value.replaceAll('&quot;', '"')
    const parts = { 'input.topic': 'tides', 'input.report': kept, 'input.photo': none() }
    const retried = await runOf(await submit({ ...parts, from_step: '' }, at))
    expect(retried).toMatchObject({ originId: run.id, originAction: 'retry', inputs: run.inputs })
  })
})
