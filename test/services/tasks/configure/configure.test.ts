import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { configure } from '../../../../services/tasks/configure/configure.ts'
import { configurationEnv } from '../../../../services/tasks/env.ts'
import { start } from '../../../../services/web/start.ts'
import { environment, openPlatform, readObject } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'
import { askAs } from '../../web/support/forms.ts'
import { openGate } from '../resources/support.ts'

const log = createLog({ name: 'test', level: 'silent' })
const PASSWORD = 'the-password-of-the-database'

let platform: Platform
let web: Awaited<ReturnType<typeof start>>
let gate: Awaited<ReturnType<typeof openGate>>

beforeAll(async () => {
  platform = await openPlatform()
  web = await start(environment(platform.url), { log })
  gate = await openGate(web.url)
})
afterAll(async () => {
  await gate.stop()
  await web.stop()
  await platform.close()
})
beforeEach(async () => {
  gate.watch(async () => {})
  const { sql } = platform
  for (const table of ['webhooks', 'llm_connections', 'managed_resources', 'static_tokens'])
    await sql`delete from ${sql(table)}`
})

/** Mounts files as Kubernetes mounts a ConfigMap. */
async function mount(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'configuration-'))
  await mkdir(join(directory, '..2026_11_27'))
  await symlink('..2026_11_27', join(directory, '..data'))
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(directory, '..2026_11_27', name), text)
    await symlink(join('..data', name), join(directory, name))
  }
  return directory
}

interface Run {
  readonly args?: readonly string[]
  readonly url?: string
  readonly version?: string
}

/** Runs the task with these files, as the Job does. */
async function run(
  files: Readonly<Record<string, string>>,
  { args = [], url = gate.url, version = '1.13.0' }: Run = {},
) {
  const directory = await mount(files)
  const source = {
    DATABASE_URL: platform.url,
    DB_PASSWORD: PASSWORD,
    PLATFORM_URL: url,
    PLATFORM_VERSION: version,
    WEB_WAIT_SECONDS: '0',
    CONFIGURATION_SECRET_MODEL_KEY: 'sk-a-key-of-a-model',
  }
  let [result, problem] = ['', '']
  const output = {
    result: (text: string) => void (result += text),
    problem: (text: string) => void (problem += text),
  }
  const env = readEnv(configurationEnv, source)
  const code = await configure(platform.sql, {
    env,
    args: [directory, ...args],
    source,
    output,
    log,
  })
  return { code, result, problem: problem.replaceAll(`${directory}/`, '') }
}

const HOOK = 'https://crm.example.com/webhooks'
const webhook = (name: string, types: readonly string[] = ['run_failed'], more: object = {}) => ({
  kind: 'webhook',
  name,
  parent: 'acme-digest',
  spec: { event_types: types },
  ...more,
})
const model = (more: object = {}) => ({
  kind: 'llm_connection',
  name: 'Team gateway',
  spec: { provider: 'openai', model: 'gpt-4o-mini', ...more },
})
/** The file of the values, as the chart writes it. */
const values = (...documents: readonly object[]) => ({
  'resources.json': JSON.stringify(documents, null, 2),
})

const liveTokens = () =>
  platform.sql`select name from static_tokens where revoked_at is null and expires_at > now()`
const managed = async () =>
  (
    await platform.sql`
      select organization_id, kind, managed_by from managed_resources order by kind`
  ).map((row) => ({ ...row }))

describe('the task configure', () => {
  it('gives the first organization what files say, marks it, and ends its token', async () => {
    const files = { ...values(model(), webhook(HOOK)), 'more.yaml': '# nothing yet\n' }
    const done = await run(files)
    expect(done).toMatchObject({ code: 0, problem: '' })
    expect(done.result).toContain('2 to create, 0 to change, 0 to delete, 0 unchanged.\n')
    const { organizationId } = platform.acme
    expect(await managed()).toEqual(
      ['llm_connection', 'webhook'].map((kind) => ({
        organizationId,
        kind,
        managedBy: 'configuration',
      })),
    )
    expect(await liveTokens()).toHaveLength(0)
    const [token] = await platform.sql`
      select scopes, organization_id, revoked_at - created_at < interval '1 minute' as is_ended,
        expires_at - created_at <= interval '16 minutes' as is_short from static_tokens`
    expect(token).toMatchObject({
      scopes: ['settings'],
      organizationId,
      isEnded: true,
      isShort: true,
    })
    const marks = await platform.audit()
    const again = await run(files)
    expect(again.result).toBe('0 to create, 0 to change, 0 to delete, 2 unchanged.\n')
    const since = (await platform.audit()).slice(marks.length).map(({ action }) => action)
    expect(since).toEqual(['static_token_created', 'static_token_deleted'])
  })

  it('changes back what a person changed, and deletes only what it kept with --prune', async () => {
    await run(values(webhook(HOOK), webhook(`${HOOK}/2`)))
    await platform.sql`update webhooks set event_types = '{run_completed}' where url = ${HOOK}`
    const back = await run(values(webhook(HOOK), webhook(`${HOOK}/2`)))
    expect(back.result).toContain('event_types: ["run_completed"] -> ["run_failed"]')
    const byHand = `${HOOK}/by-hand`
    await platform.sql`
      insert into webhooks (id, deployment_id, url, event_types, sealed_key)
      select gen_random_uuid(), deployment_id, ${byHand}, event_types, sealed_key
      from webhooks where url = ${HOOK}`
    const pruned = await run(values(webhook(HOOK)), { args: ['--prune'] })
    expect(pruned.result).toContain(`deleted webhook "${HOOK}/2" of acme-digest\n`)
    const left = await platform.sql`select url from webhooks order by url`
    expect(left.map(({ url }) => url)).toEqual([HOOK, byHand])
    expect(await managed()).toHaveLength(1)
  })

  it('lets what no document has any more go without --prune, and its mark with it', async () => {
    await run(values(webhook(HOOK), model()))
    const fewer = await run(values(webhook(HOOK)))
    expect(fewer.result).toBe('0 to create, 0 to change, 0 to delete, 1 unchanged.\n')
    expect(await platform.sql`select from llm_connections`).toHaveLength(1)
    expect((await managed()).map(({ kind }) => kind)).toEqual(['webhook'])
  })

  it('has secrets of named variables, and of nothing else that its pod has', async () => {
    const kept = await run(values(model({ api_key: { env: 'MODEL_KEY' } })))
    expect(kept).toMatchObject({ code: 0, problem: '' })
    const [row] = await platform.sql`select sealed_key is not null as has_key from llm_connections`
    expect(row).toEqual({ hasKey: true })
    for (const [reference, problem] of [
      [{ env: 'DB_PASSWORD' }, 'The variable DB_PASSWORD is not set'],
      [{ env: 'CONFIGURATION_SECRET_MODEL_KEY' }, 'is not set'],
      [{ file: '/proc/self/environ' }, 'No files are read here. Write {env: NAME}.'],
      ['sk-written-out', 'A secret is not written into a document.'],
    ] as const) {
      const refused = await run(values(model({ api_key: reference, model: 'other' })))
      expect(refused.code).toBe(2)
      expect(refused.problem).toMatch(/^resources.json:8:7: spec.api_key: /)
      expect(refused.problem).toContain(problem)
      expect(JSON.stringify(refused)).not.toMatch(/password-of|sk-/)
    }
    expect(await liveTokens()).toHaveLength(0)
  })

  it.each([
    [
      'an automation of another organization',
      webhook(HOOK, [], { parent: 'rival-digest' }),
      'parent',
    ],
    ['an organization', webhook(HOOK, [], { organization: 'rival' }), 'organization'],
    ['a kind that needs another scope', { ...webhook('x'), kind: 'schedule' }, 'kind'],
  ])('refuses a document that names %s, and changes nothing', async (_, document, field) => {
    const refused = await run(values(model(), document))
    expect(refused).toMatchObject({ code: 2, result: '' })
    expect(refused.problem).toMatch(new RegExp(`^resources\\.json:\\d+:\\d+: ${field}`))
    expect(refused.problem).toContain('Nothing was changed.')
    expect(await platform.sql`select from llm_connections`).toHaveLength(0)
    expect(await managed()).toEqual([])
  })

  it('refuses 10,000 documents of which half cannot be read, with their lines', async () => {
    const documents = Array.from({ length: 10_000 }, (_, at) =>
      at % 2 === 0 ? model({ model: `m${at}` }) : { kid: 'webhook' },
    )
    const refused = await run(values(...documents))
    expect(refused.code).toBe(2)
    const lines = refused.problem.trimEnd().split('\n')
    expect(lines).toHaveLength(202)
    expect(lines[0]).toMatch(/^resources\.json:10:3: kind: It is required\./)
    expect(lines.at(-1)).toBe('Nothing was changed.')
    expect(await platform.sql`select from llm_connections`).toHaveLength(0)
    expect(await liveTokens()).toHaveLength(0)
  })

  it('ends when web breaks off in the middle, and the next run continues', async () => {
    const all = Array.from({ length: 6 }, (_, at) => webhook(`${HOOK}/${at}`))
    let created = 0
    gate.watch(async ({ method, path }) => {
      const isCreated = method === 'POST' && !path.includes('dry_run')
      return isCreated && ++created > 3 ? 'break' : undefined
    })
    const broken = await run(values(...all))
    expect(broken).toMatchObject({ code: 3 })
    expect(broken.problem).toContain('3 of 6 changes are known to be made. Apply again')
    expect(await liveTokens()).toHaveLength(0)
    gate.watch(async () => {})
    const next = await run(values(...all))
    expect(next).toMatchObject({ code: 0, problem: '' })
    expect(next.result).toContain('3 to create, 0 to change, 0 to delete, 3 unchanged.')
    expect(await managed()).toHaveLength(6)
  })

  it('waits for web as long as it is told to, and for its own version', async () => {
    await expect(run(values(model()), { version: '2.0.0' })).rejects.toThrow(
      /has the version 1\.13\.0, not 2\.0\.0/,
    )
    await expect(run(values(model()), { url: 'http://127.0.0.1:1' })).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:1 does not answer: /,
    )
    expect(await platform.sql`select from static_tokens`).toHaveLength(0)
  })

  it('ends what a crash left behind, and no token that a person issued', async () => {
    const { organizationId, userId } = platform.acme
    const name = 'Configuration of the installation'
    const soon = new Date(Date.now() + 10 * 60_000)
    const late = new Date(Date.now() + 86_400_000)
    const scopes = ['settings'] as const
    const base = { organizationId, deploymentId: null, name, scopes }
    await createStaticToken(platform.sql, { ...base, createdBy: null, expiresAt: soon })
    await createStaticToken(platform.sql, { ...base, createdBy: userId, expiresAt: soon })
    await createStaticToken(platform.sql, { ...base, createdBy: null, expiresAt: late })
    await createStaticToken(platform.sql, {
      ...base,
      organizationId: platform.rival.organizationId,
      createdBy: null,
      expiresAt: soon,
    })
    await run(values(model()))
    const left = await platform.sql`
      select organization_id, created_by from static_tokens where revoked_at is null order by id`
    expect(left.map(({ organizationId: id, createdBy }) => [id, createdBy])).toEqual([
      [organizationId, userId],
      [organizationId, null],
      [platform.rival.organizationId, null],
    ])
  })

  it('shows its mark by page and API, and lets people change what has it', async () => {
    await run(values(webhook(HOOK)))
    const { acme, app } = platform
    const ada = await platform.signIn(acme)
    const [row] = await platform.sql`select id from webhooks`
    const path = `/automations/${acme.digest.automationId}/webhooks/${row?.['id']}`
    const page = async (at: string): Promise<string> =>
      (await app.request(at, { headers: { cookie: ada.cookie } })).text()
    const mark = 'Managed by configuration: a change here is undone'
    expect(await page(path)).toContain(mark)
    const token = await platform.issueToken(acme)
    const read = async (at: string) =>
      readObject(
        await app.request(`/designer/v2${at}`, { headers: { authorization: `Bearer ${token}` } }),
      )
    expect(await read(path)).toMatchObject({ managed_by: 'configuration' })
    expect(await read(dirname(path))).toMatchObject({
      webhooks: [{ managed_by: 'configuration' }],
    })
    const saved = await askAs(app, ada).post(path, { url: HOOK, event: 'run_completed' })
    expect(await page(saved.headers.get('location') ?? '')).toContain(mark)
    await platform.sql`delete from managed_resources`
    expect(await page(path)).not.toContain('Managed by')
    expect(await read(path)).toMatchObject({ managed_by: null })
  })
})
