import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { docx, paragraph, pdf } from '../../../documents/corpus.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'
import { zip } from '../../../../support/zip.ts'
import type { ZipEntry } from '../../../../support/zip.ts'

const definition = {
  name: 'Support',
  llm: { model: 'gpt-4o-mini' },
  agents: [
    { key: 'support', role: 'Support', goal: 'Help' },
    { key: 'writer', role: 'Writer', goal: 'Write' },
  ],
  tasks: [{ key: 'help', agent: 'support', description: 'Help.', expected_output: 'An answer' }],
}

const known = v.object({
  knowledge: v.record(v.string(), v.record(v.string(), v.unknown())),
  agents: v.array(v.object({ goal: v.string(), knowledge: v.optional(v.array(v.string())) })),
})

let platform: Platform
let token: string
let rivalToken: string
let user: SignedInUser
let ada: ReturnType<typeof askAs>
let draft: string

const call = async (
  path: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  as = token,
) =>
  platform.app.request(`${BASE_URL}/designer/v2${path}`, {
    ...init,
    headers: { authorization: `Bearer ${as}`, ...init.headers },
  })
const asJson = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  user = await platform.signIn(platform.acme)
  ada = askAs(platform.app, user)
  const project = await readObject(await call('/projects', asJson({ name: 'Support' })))
  draft = `/projects/${String(project['id'])}/versions/1`
  await call(`/projects/${String(project['id'])}/versions`, asJson({ definition }))
})

afterAll(() => platform.close())

async function send(
  name: string,
  body: Buffer | string,
  more: { query?: string; as?: string } = {},
) {
  const path = `${draft}/knowledge?name=${encodeURIComponent(name)}${more.query ?? ''}`
  const response = await call(path, { method: 'POST', body }, more.as)
  return { status: response.status, body: await readObject(response) }
}

const stored = async () => {
  const { definition: now } = await readObject(await call(draft))
  return v.parse(known, now)
}

const skill = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: Fills in forms. Use it for PDF forms.\n${more}---\n` +
  '# Forms\n\nFirst read fields.md.\n'
const skills = (...entries: ZipEntry[]): Buffer => zip(entries)

describe('knowledge that is sent (POST …/knowledge)', () => {
  it('is the text of a document, with how much of it there is', async () => {
    const bytes = pdf([{ lines: ['A refund takes'] }, { lines: ['14 days.'] }])
    expect(await send('Returns (2026).pdf', bytes, { query: '&agents=support' })).toMatchObject({
      status: 200,
      body: {
        knowledge: [{ name: 'Returns_2026_', extent: '2 pages', description: null, files: [] }],
        left_out: [],
      },
    })
    const { knowledge, agents } = await stored()
    expect(knowledge['Returns_2026_']).toEqual({
      text: '[Page 1]\nA refund takes\n\n[Page 2]\n14 days.',
      extent: '2 pages',
    })
    expect(agents.map((agent) => agent.knowledge)).toEqual([['Returns_2026_'], undefined])
  })

  it('takes the place of what has its name, for every agent unless some are named', async () => {
    await send('tone.txt', 'Be brief.')
    await send('tone.md', 'Be kind.')
    const { knowledge, agents } = await stored()
    expect(knowledge['tone']).toEqual({ text: 'Be kind.' })
    expect(agents.map((agent) => agent.knowledge?.filter((each) => each === 'tone'))).toEqual([
      ['tone'],
      ['tone'],
    ])
  })

  it('is the skills of an archive, with what of their files is text', async () => {
    const sent = await send(
      'skills.zip',
      skills(
        { name: 'skills/forms/SKILL.md', content: skill('forms', 'license: MIT\n') },
        { name: 'skills/forms/fields.md', content: 'Name, date.' },
        { name: 'skills/forms/scripts/fill.py', content: 'print(1)' },
        { name: 'skills/forms/guide.docx', content: docx(paragraph('Guide')) },
        { name: 'skills/forms/logo.png', content: Buffer.from('89504e470d0a1a0a', 'hex') },
        { name: 'skills/forms/inner.zip', content: skills({ name: 'a', content: 'a' }) },
        { name: 'skills/forms/.git/config', content: 'x' },
        { name: 'skills/mail/SKILL.md', content: skill('mail') },
      ),
    )
    expect(sent).toMatchObject({
      status: 200,
      body: { left_out: ['skills/forms/logo.png', 'skills/forms/inner.zip'] },
    })
    const { knowledge } = await stored()
    expect(knowledge['forms']).toEqual({
      text: '# Forms\n\nFirst read fields.md.',
      description: 'Fills in forms. Use it for PDF forms.',
      files: { 'fields.md': 'Name, date.', 'scripts/fill.py': 'print(1)', 'guide.docx': 'Guide' },
    })
    expect(knowledge['mail']).not.toHaveProperty('files')
  })

  it.each<[string, string, () => Buffer | string, number, string]>([
    [
      'a scan',
      'a.pdf',
      () => pdf([{ hasPicture: true }]),
      422,
      'a.pdf has no text; 1 page of pict',
    ],
    [
      'a binary',
      'a.bin',
      () => Buffer.from([1, 0, 2]),
      422,
      'a.bin cannot be used. Agents work with',
    ],
    ['an empty text', 'a.txt', () => ' ', 422, 'The file a.txt is empty'],
    ['more than a version has', 'a.txt', () => 'x'.repeat(1_100_000), 422, 'at most 1048576 bytes'],
    [
      'an archive without a skill',
      'a.zip',
      () => skills({ name: 'a.txt', content: 'a' }),
      422,
      'The archive has no SKILL.md',
    ],
    [
      'a skill without front matter',
      'SKILL.md',
      () => '# Forms',
      422,
      'The file SKILL.md has no front matter: it begins with ---',
    ],
    [
      'a skill without instructions',
      'SKILL.md',
      () => skill('a').split('# ')[0] ?? '',
      422,
      'has no instr',
    ],
    [
      'a skill with a bad name',
      'SKILL.md',
      () => skill('../a'),
      422,
      'name: must be small letters',
    ],
    [
      'anchors that grow in a skill',
      'SKILL.md',
      () =>
        skill(
          'a',
          `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}]\nc: [${'*b,'.repeat(99)}]\n`,
        ),
      422,
      'front matter that cannot be read',
    ],
    [
      'two skills of one name',
      'a.zip',
      () =>
        skills(
          { name: 'a/SKILL.md', content: skill('x') },
          { name: 'b/SKILL.md', content: skill('x') },
        ),
      422,
      'two skills with the name x',
    ],
    [
      'a path that leads out',
      'a.zip',
      () => skills({ name: '../SKILL.md', content: skill('x') }),
      400,
      'The ZIP archive cannot be read',
    ],
    [
      'a link',
      'a.zip',
      () =>
        skills(
          { name: 'SKILL.md', content: skill('x') },
          { name: 'a.md', content: '/etc/passwd', mode: 0o120777 },
        ),
      400,
      'a.md is a symbolic link',
    ],
    [
      'a bomb',
      'a.zip',
      () =>
        skills(
          { name: 'SKILL.md', content: skill('x') },
          { name: 'a.txt', content: 'x', size: 30_000_000 },
        ),
      413,
      'Skills have at most 500 files and 20 MiB',
    ],
  ])('is refused of %s', async (...[, name, make, status, message]) => {
    const sent = await send(name, make())
    expect([
      sent.status,
      sent.body['detail'] ?? sent.body['message'] ?? JSON.stringify(sent.body),
    ]).toEqual([status, expect.stringContaining(message)])
  })

  it('is that of the own organization, of a draft and of agents that are there', async () => {
    expect((await send('a.txt', 'a', { as: rivalToken })).status).toBe(404)
    const unknown = await send('a.txt', 'a', { query: '&agents=nobody' })
    expect([unknown.status, JSON.stringify(unknown.body)]).toEqual([
      422,
      expect.stringContaining('There is no agent nobody. Known: support, writer.'),
    ])
    expect((await call(`${draft}/knowledge`, { method: 'POST', body: 'a' })).status).toBe(400)
  })
})

describe('the page of a draft', () => {
  const upload = async (name: string, content: Buffer | string, csrf?: string) => {
    const form = new FormData()
    form.append('csrf_token', csrf ?? user.csrfToken)
    form.append('agent', 'writer')
    form.append('file', new Blob([content]), name)
    const headers = { cookie: user.cookie }
    const path = `${BASE_URL}${draft}/knowledge`
    return platform.app.request(path, { method: 'POST', headers, body: form })
  }

  it('takes a file, says its length, and keeps long texts while others are edited', async () => {
    const long = 'A long rule. '.repeat(400)
    const added = await upload('rules.docx', docx(paragraph(long)))
    expect([added.status, added.headers.get('location')]).toEqual([
      303,
      `${draft}?notice=knowledge-added#knowledge`,
    ])
    const page = await (await ada.get(draft)).text()
    expect(page).toMatch(/rules<\/td>[^]*?5,199 characters/)
    expect(page).toMatch(/characters\s+of 2 pages/)
    expect(page).toContain('PDF, DOCX, XLSX, PPTX, ODT, ODS and ODP of up to 20 MiB')
    expect(page).not.toContain('A long rule. A long rule.')
    const text = /<textarea\s+name="definition"[^>]*>([^<]*)</.exec(page)?.[1] ?? ''
    const shown = text.replaceAll('&quot;', '"').replaceAll('&amp;', '&').replaceAll('&#39;', "'")
    const since = /name="since" value="(\w+)"/.exec(page)?.[1] ?? ''
    const edited = shown.replace('"Help"', '"Help well"')
    expect(edited).toContain('(kept: 5199 characters, sha256 ')
    expect((await ada.post(draft, { definition: edited, since })).status).toBe(303)
    const saved = await stored()
    expect(saved.agents[0]).toMatchObject({ goal: 'Help well' })
    expect(saved.knowledge['rules']?.['text']).toBe(long.trim())
    const foreign = edited.replace(
      /sha256 \w/,
      (all) => `${all.slice(0, -1)}${all.endsWith('0') ? '1' : '0'}`,
    )
    const refused = await ada.post(draft, { definition: foreign, since: '' })
    expect(await refused.text()).toContain('stands for a text that this version does not have')
  })

  it('says why a file is refused, and removes what is there', async () => {
    const refused = await upload('scan.pdf', pdf([{ hasPicture: true }]))
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('scan.pdf has no text; 1 page of pictures')
    expect((await upload('a.txt', 'a', 'wrong')).status).toBe(403)
    await upload('gone.txt', 'Soon gone.')
    expect((await ada.post(`${draft}/knowledge/remove`, { name: 'gone' })).status).toBe(303)
    const { knowledge, agents } = await stored()
    expect(knowledge).not.toHaveProperty('gone')
    expect(JSON.stringify(agents)).not.toContain('gone')
  })
})
