import { symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { readApplyRequest } from '../../../../services/tasks/resources/options.ts'
import { start } from '../../../../services/web/start.ts'
import { environment, openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'
import { isLong } from '../../../support/long.ts'
import { createRunner, openGate } from './support.ts'

let platform: Platform
let web: Awaited<ReturnType<typeof start>>
let gate: Awaited<ReturnType<typeof openGate>>
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  web = await start(environment(platform.url), {
    log: createLog({ name: 'test', level: 'silent' }),
  })
  gate = await openGate(web.url)
})
afterAll(async () => {
  await gate.stop()
  await web.stop()
  await platform.close()
})
beforeEach(async () => {
  token = await platform.issueToken(platform.acme)
  gate.watch(async () => {})
  await platform.sql`delete from schedules`
  await platform.sql`delete from webhooks`
  await platform.sql`delete from automation_oauth`
  await platform.sql`delete from managed_resources`
})

const run = createRunner(() => ({ url: gate.url, token }))

const schedule = (name: string, more: object = {}, parent = 'acme-digest') => ({
  kind: 'schedule',
  name,
  parent,
  spec: { cron: '30 8 * * MON-FRI', time_zone: 'Europe/Berlin', ...more },
})
const webhook = (name: string, types: readonly string[], parent = 'acme-digest') => ({
  kind: 'webhook',
  name,
  parent,
  spec: { event_types: types, format: 'standard', region: null },
})
const yaml = (...documents: readonly object[]): string =>
  documents.map((each) => stringify(each)).join('---\n')

const HOOK = 'https://crm.example.com/webhooks'

/** The changes that the audit has recorded. */
const countChanges = async (): Promise<number> => (await platform.audit()).length

describe('the task apply', () => {
  it('says what differs, makes it so, and changes nothing a second time', async () => {
    const files = yaml(schedule('Each workday'), webhook(HOOK, ['run_failed']))
    const planned = await run.apply(files, '--dry-run')
    expect([planned.code, await countChanges()]).toEqual([0, 0])
    expect(planned.result).toBe(
      'schedule "Each workday" of acme-digest: create\n' +
        '    name: "Each workday"\n' +
        '    cron: "30 8 * * MON-FRI"\n' +
        '    time_zone: "Europe/Berlin"\n' +
        '    missed: "skip"\n' +
        '    inputs: {}\n' +
        `webhook "${HOOK}" of acme-digest: create\n` +
        `    url: "${HOOK}"\n` +
        '    event_types: ["run_failed"]\n' +
        '    format: "standard"\n' +
        '2 to create, 0 to change, 0 to delete, 0 unchanged.\n',
    )
    const done = await run.apply(files)
    expect(done).toMatchObject({ code: 0, problem: '' })
    expect(done.result).toContain('created schedule "Each workday" of acme-digest\n')
    expect(done.result).toContain('its key is not shown: replace it to see one')
    expect(await countChanges()).toBe(2)
    const again = await run.apply(files)
    expect(again.result).toBe('0 to create, 0 to change, 0 to delete, 2 unchanged.\n')
    expect(await countChanges()).toBe(2)
  })

  it('takes what export prints as JSON: a list of documents', async () => {
    await run.apply(yaml(schedule('Each workday'), webhook(HOOK, ['run_failed'])))
    const kinds = ['--kind', 'schedule', '--kind', 'webhook']
    const listed = await run.export('--json', ...kinds)
    const again = await run.apply({ 'all.json': listed })
    expect(again.result).toBe('0 to create, 0 to change, 0 to delete, 2 unchanged.\n')
    const wrong = await run.apply({ 'all.json': listed.replaceAll('"missed"', '"misses"') })
    expect(wrong.problem).toMatch(
      /^all\.json:9:7: spec\.misses: It is not known\. Did you mean missed\?/,
    )
  })

  it('marks what the files keep for one name, and nothing with --dry-run', async () => {
    const managers = async () =>
      (await platform.sql`select managed_by from managed_resources order by 1`).map(
        ({ managedBy }) => managedBy,
      )
    const both = yaml(schedule('A'), schedule('B'))
    await run.apply(both, '--managed-by', 'ci', '--dry-run')
    expect(await managers()).toEqual([])
    await run.apply(both, '--managed-by', 'ci')
    await run.apply(yaml(schedule('B')), '--managed-by', 'github.com/acme/crews')
    expect(await managers()).toEqual(['ci', 'github.com/acme/crews'])
    // What another name has taken over is not deleted.
    const pruned = await run.apply(yaml(schedule('C')), '--managed-by', 'ci', '--prune')
    expect(pruned.result).toContain('deleted schedule "A" of acme-digest\n')
    expect(pruned.result).not.toContain('"B"')
    expect(await managers()).toEqual(['ci', 'github.com/acme/crews'])
  })

  it('changes nothing when it may not mark, and finds again what it was to delete', async () => {
    await run.apply(yaml(webhook(HOOK, ['run_failed'])), '--managed-by', 'ci')
    gate.watch(async ({ method }) => (method === 'DELETE' ? 'break' : undefined))
    const other = yaml(webhook(`${HOOK}/2`, ['run_failed']))
    const broken = await run.apply(other, '--managed-by', 'ci', '--prune')
    expect(broken.code).toBe(3)
    gate.watch(async () => {})
    const next = await run.apply(other, '--managed-by', 'ci', '--prune')
    expect(next.result).toContain(`deleted webhook "${HOOK}" of acme-digest\n`)
    token = await issueStaticToken(platform.sql, {
      organizationId: platform.acme.organizationId,
      deploymentId: null,
      name: 'design',
      createdBy: null,
      scopes: ['design'],
    })
    const before = await countChanges()
    const refused = await run.apply(yaml(schedule('A')), '--managed-by', 'ci')
    expect(refused.code).toBe(2)
    expect(refused.problem).toBe(
      'The token lacks the scope settings. Issue one that has it.\nNothing was changed.\n',
    )
    expect(await countChanges()).toBe(before)
  })

  it('changes fields, and compares them as the platform keeps them', async () => {
    await run.apply(yaml(schedule('A'), webhook(HOOK, ['run_failed'])))
    const cron = '  30   8 * *   MON-FRI'
    const changed = yaml(schedule('A', { cron, missed: 'run_once' }), webhook(HOOK, ['run_failed']))
    const { code, result } = await run.apply(changed)
    expect(code).toBe(0)
    expect(result).toContain(
      'schedule "A" of acme-digest: change\n    missed: "skip" -> "run_once"\n0 to create',
    )
    expect((await run.apply(changed)).result).toContain('2 unchanged')
  })

  it('takes the id of an automation for its name, and knows it for the same', async () => {
    const { automationId } = platform.acme.digest
    await run.apply(yaml(schedule('A')))
    const byId = schedule('A', {}, automationId)
    expect((await run.apply(yaml(byId))).result).toContain('1 unchanged')
    const twice = await run.apply({ 'a.yaml': yaml(schedule('A')), 'b.yaml': yaml(byId) })
    expect(twice).toMatchObject({ code: 2, result: '' })
    expect(twice.problem).toMatch(/^b.yaml:2:1: name: There is such a schedule .*a.yaml:1\.\n/)
  })

  it('deletes with --prune what no document has, of their kinds below their parents', async () => {
    const elsewhere = schedule('C', { inputs: { topic: 'tides' } }, 'acme-research')
    await run.apply(yaml(schedule('A'), schedule('B'), elsewhere, webhook(HOOK, ['*'])))
    const kept = await run.apply(yaml(schedule('A')))
    expect(kept.result).toContain('0 to delete')
    const pruned = await run.apply(yaml(schedule('A')), '--prune')
    expect(pruned.result).toContain('schedule "B" of acme-digest: delete')
    expect(pruned.result).toContain('deleted schedule "B" of acme-digest')
    const names = await platform.sql`select name from schedules order by name`
    expect(names.map(({ name }) => name)).toEqual(['A', 'C'])
    expect(await platform.sql`select from webhooks`).toHaveLength(1)
  })

  it('deletes first where there is no room for what is new', async () => {
    const ten = (host: string) =>
      Array.from({ length: 10 }, (_, index) => webhook(`https://${host}/${index}`, ['*']))
    await run.apply(yaml(...ten('a.example')))
    const { code, problem } = await run.apply(yaml(...ten('b.example')), '--prune')
    expect([code, problem]).toEqual([0, ''])
    const rows = await platform.sql<{ host: string }[]>`
      select distinct split_part(url, '/', 3) as host from webhooks`
    expect([...rows]).toEqual([{ host: 'b.example' }])
  })

  it('changes nothing of what was exported', async () => {
    await run.apply(yaml(schedule('A', { missed: 'run_once' }), webhook(HOOK, ['b', 'run_failed'])))
    const before = await countChanges()
    const exported = await run.export()
    expect(exported).toContain('kind: schedule\nname: A\nparent: acme-digest\nspec:\n')
    const { code, result } = await run.apply(exported, '--prune')
    // The member, the OAuth settings, the rules on regions and on scores of traces, and the OAuth
    // client, the rule of scores and the gate of replays of each automation are always there.
    expect([code, result]).toEqual([0, '0 to create, 0 to change, 0 to delete, 12 unchanged.\n'])
    expect(await countChanges()).toBe(before)
    const some = JSON.parse(await run.export('--json', '--kind', 'webhook'))
    expect(some).toEqual([webhook(HOOK, ['b', 'run_failed'])])
    await expect(run.export('--kind', 'webhok')).rejects.toThrow(/no kind "webhok".*webhook\?/)
  })

  it('leaves what a person changed meanwhile, unless it is told to', async () => {
    await run.apply(yaml(schedule('A'), schedule('B')))
    const meanwhile = async ({ method }: { method: string }): Promise<void> => {
      if (method === 'PUT')
        await platform.sql`update schedules set cron = '0 1 * * *' where name = 'A'`
    }
    gate.watch(meanwhile)
    const wanted = yaml(
      schedule('A', { missed: 'run_once' }),
      schedule('B', { missed: 'run_once' }),
    )
    const refused = await run.apply(wanted)
    expect(refused.code).toBe(2)
    expect(refused.problem).toMatch(/all.yaml:1:1: schedule "A".* changed since the plan.*--force/)
    expect(refused.result).toContain('changed schedule "B"')
    const rows = await platform.sql`select cron, missed from schedules order by name`
    expect(rows.map(({ missed }) => missed)).toEqual(['skip', 'run_once'])
    expect((await run.apply(wanted, '--force')).code).toBe(0)
    gate.watch(async () => {})
    expect((await run.apply(wanted)).result).toContain('2 unchanged')
  })

  it('says what was done when the platform is lost in the middle, and continues then', async () => {
    let writes = 0
    gate.watch(async ({ method, path }) => {
      if (method === 'POST' && !path.includes('dry_run') && ++writes > 1) return 'break'
      return undefined
    })
    const files = yaml(schedule('A'), schedule('B'), schedule('C'))
    const broken = await run.apply(files)
    expect(broken.code).toBe(3)
    expect(broken.result).toContain('created schedule "A"')
    expect(broken.problem).toMatch(/cannot be reached.*\n1 of 3 changes are known to be made/)
    gate.watch(async () => {})
    const rest = await run.apply(files)
    expect([rest.code, rest.result]).toEqual([0, expect.stringContaining('2 to create')])
    await gate.stop()
    const away = await run.apply(files)
    expect([away.code, away.problem]).toEqual([3, expect.stringContaining('cannot be reached')])
    gate = await openGate(web.url)
  })

  it('waits while the platform sends it back, some times', async () => {
    let calls = 0
    gate.watch(async () => (++calls % 3 === 0 ? undefined : 'busy'))
    expect(await run.apply(yaml(schedule('A')))).toMatchObject({ code: 0, problem: '' })
    gate.watch(async () => 'busy')
    expect(await run.apply(yaml(schedule('A')))).toMatchObject({ code: 3 })
  })

  it('prints one JSON object', async () => {
    const { code, result } = await run.apply(yaml(schedule('A')), '--json')
    expect([code, JSON.parse(result)]).toMatchObject([
      0,
      {
        documents: [
          { kind: 'schedule', action: 'create', line: 1, done: true, parent: 'acme-digest' },
        ],
        problems: [],
      },
    ])
    const refused = await run.apply('kind: schedul\nname: A\n', '--json')
    expect([refused.code, JSON.parse(refused.result)]).toMatchObject([
      2,
      { documents: [], problems: [{ line: 1, column: 1, field: 'kind' }] },
    ])
  })
})

/** Aliases that grow by the power of ten. */
const BOMB = ['a', 'b', 'c']
  .map((name, at) => `${'bcd'[at]}: &${'bcd'[at]} [${Array(10).fill(`*${name}`).join(', ')}]\n`)
  .join('')

describe('documents that are not good', () => {
  it('are named by file, line and field, all of them, and nothing is changed', async () => {
    const { code, problem, result } = await run.apply({
      'a.yaml': yaml(
        { ...schedule('A'), kind: 'shedule' },
        schedule('B', { time_zon: 'UTC' }),
        { kind: 'schedule', name: 'C', parent: 'acme-digest', spec: { cron: '0 1 * * *' } },
        schedule('D', { name: 'D' }),
        schedule('E', {}, 'acme-digset'),
        schedule('F', {}, 'rival-digest'),
        schedule('G', { cron: 'often', missed: 'later' }),
        schedule('H', { inputs: { topic: 1 } }),
        { ...schedule('I'), specs: {} },
        { kind: 'schedule', name: 7, parent: 'acme-digest', spec: [] },
        { kind: 'schedule', name: 'K', spec: {} },
      ),
      'b.yaml': 'kind: schedule\nname: [\n',
      'c.yaml': 'a: &a [x]\n' + BOMB,
      'd.yml': '- a\n---\n# nothing\n---\ntext\n',
      'e.txt': 'not read',
      'f.yaml': yaml(schedule('Good')),
    })
    expect([code, result, await countChanges()]).toEqual([2, '', expect.any(Number)])
    const lines = problem.split('\n')
    const wanted = [
      /^a\.yaml:1:1: kind: There is no kind "shedule"\. Did you mean schedule\? Known: /,
      /^a\.yaml:14:3: spec\.time_zon: It is not known\. Did you mean time_zone\?/,
      /^a\.yaml:19:1: spec\.time_zone: It is required\.$/,
      /^a\.yaml:28:3: spec\.name: It is the `name` of the document/,
      /^a\.yaml:32:1: parent: .*no automation "acme-digset"\. Did you mean acme-digest\?$/,
      /^a\.yaml:39:1: parent: .*no automation "rival-digest"\./,
      /^a\.yaml:50:3: spec\.missed: must be skip or run_once\.$/,
      /^a\.yaml:52:1: .*topic/,
      /^a\.yaml:\d+:1: specs: It is not known\. Did you mean spec\?$/,
      /^a\.yaml:\d+:1: name: Write a text here; put quotes around a number\.$/,
      /^a\.yaml:\d+:1: spec: Write the fields here, one a line\.$/,
      /^a\.yaml:\d+:1: parent: A schedule has a parent: write the slug of its automation\.$/,
      /^b\.yaml:3:1: This is not valid YAML: /,
      /^c\.yaml:1:1: Its aliases or its depth are too much/,
      /^d\.yml:1:3: A document has kind, name, parent and spec\.$/,
      /^d\.yml:5:1: A document has kind, name, parent and spec\.$/,
    ]
    for (const pattern of wanted) {
      expect(
        lines.filter((line) => pattern.test(line)),
        String(pattern),
      ).toHaveLength(1)
    }
    expect(lines).toHaveLength(wanted.length + 2)
    expect(await platform.sql`select from schedules`).toHaveLength(0)
  })

  it('are refused with files of a directory that cannot be read', async () => {
    const link = join(tmpdir(), `broken-${Math.random()}.yaml`)
    await symlink('/nowhere/at/all', link)
    const { code, problem } = await run.apply(yaml(schedule('A')), link)
    expect([code, problem]).toEqual([2, expect.stringMatching(/broken.*It cannot be read.*ENOENT/)])
    expect(await platform.sql`select from schedules`).toHaveLength(0)
  })

  it('are refused where a name is that of several rows', async () => {
    await run.apply(yaml(schedule('A'), schedule('B')))
    await platform.sql`update schedules set name = 'A'`
    const { code, problem } = await run.apply(yaml(schedule('A')))
    expect([code, problem]).toEqual([2, expect.stringContaining('There are 2 of them')])
  })

  it('are refused for a token without the scope, which is named, or of none', async () => {
    const { organizationId, userId: createdBy } = platform.acme
    const issued = { organizationId, deploymentId: null, name: 'CI', createdBy }
    const limits = { scopes: ['design'], expiresAt: null, networks: [] } as const
    token = await issueStaticToken(platform.sql, { ...issued, ...limits })
    const { code, problem } = await run.apply(yaml(schedule('A'), webhook(HOOK, ['*'])))
    expect([code, problem]).toEqual([
      2,
      expect.stringMatching(/all.yaml:8:1: The token lacks the scope settings.*\nNothing/),
    ])
    token = 'pat_unknown'
    expect(await run.apply(yaml(schedule('A')))).toMatchObject({ code: 2 })
  })

  it('are at most 10,000', async () => {
    const many = (count: number) => ({
      'a.json': JSON.stringify({}),
      'b.yaml': '---\na: 1\n'.repeat(count),
    })
    const { code, problem } = await run.apply(many(200))
    expect([code, problem]).toEqual([2, expect.stringContaining('more.\nNothing was changed.')])
    const shortest = Array(10_001).fill('{"kind":"schedule","name":"S"}')
    const tooMany = await run.apply(shortest.join('\n---\n'))
    expect(tooMany.problem).toMatch(/^There are 10001 documents; at most 10000 are applied\./)
  })
})

it('apply and export refuse to be called wrongly, and have help', () => {
  const read = (...args: string[]) => readApplyRequest(args, { PLATFORM_API_TOKEN: 'pat_x' })
  expect(read('--help')).toBeUndefined()
  expect(() => read('--url', 'https://a.example')).toThrow(/Name a file or a directory/)
  expect(() => read('a.yaml', '--url', 'a.example')).toThrow(/--url is the address/)
  expect(() => read('a.yaml', '--prun')).toThrow(/Unknown option '--prun'/)
  expect(() => readApplyRequest(['a.yaml', '--url', 'https://a.example'], {})).toThrow(
    /PLATFORM_API_TOKEN, or name --token-file/,
  )
})

const words = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,9}$/)
const address = fc
  .stringMatching(/^(\/[a-z0-9.~_%-]{0,8}){1,3}$/)
  .map((path) => `https://a.example${path}`)
  .filter((each) => URL.canParse(each) && new URL(each).href === each)
const documents = fc.record({
  schedules: fc.uniqueArray(
    fc.record({
      name: fc
        .string({ unit: 'grapheme', maxLength: 22 })
        .filter((text) => /^[^\sA\p{C}][^\p{C}]{0,20}[^\s\p{C}]$/u.test(text)),
      minute: fc.nat(59),
      missed: fc.constantFrom('skip', 'run_once'),
      topic: fc
        .string({ maxLength: 20 })
        .filter((text) => !text.includes('\0') && text.trim() !== ''),
    }),
    { selector: ({ name }) => name, maxLength: isLong ? 6 : 3 },
  ),
  webhooks: fc.uniqueArray(
    fc.record({ address, types: fc.uniqueArray(words, { minLength: 1, maxLength: 5 }) }),
    { selector: (each) => each.address, maxLength: isLong ? 6 : 3 },
  ),
})

it('apply twice, and apply of what was exported, change nothing, whatever is valid', async () => {
  await fc.assert(
    fc.asyncProperty(documents, async ({ schedules, webhooks }) => {
      const all = yaml(
        schedule('Always', {}, 'acme-research'),
        ...schedules.map(({ minute, topic, name, missed }) => {
          const cron = `${minute} * * * *`
          return schedule(name, { cron, missed, inputs: { topic } }, 'acme-research')
        }),
        ...webhooks.map((each) => webhook(each.address, each.types)),
      ).replace('spec:\n', 'spec:\n  inputs: { topic: tides }\n')
      const first = await run.apply(all, '--prune')
      expect([first.code, first.problem]).toEqual([0, ''])
      const before = await countChanges()
      for (const files of [all, await run.export()]) {
        const { code, result } = await run.apply(files, '--prune')
        expect([code, result]).toEqual([
          0,
          expect.stringContaining('0 to create, 0 to change, 0 to delete'),
        ])
      }
      expect(await countChanges()).toBe(before)
    }),
    { numRuns: isLong ? 60 : 2 },
  )
})

describe('kinds that belong to the organization', () => {
  it('are kept without a parent, and a key stays where the file says it is', async () => {
    const file = yaml({
      kind: 'llm_connection',
      name: 'Main',
      spec: { provider: 'openai', model: 'm', api_key: { env: 'A_SECRET' } },
    })
    expect(await run.apply(file)).toMatchObject({ code: 0, problem: '' })
    const rows = await platform.sql`
      select name, sealed_key is not null as has_key from llm_connections`
    expect(rows).toMatchObject([{ name: 'Main', hasKey: true }])
    expect((await run.apply(file)).result).toContain('1 unchanged')
    const exported = await run.export()
    expect(exported).toContain('llm_connection')
    expect((await run.apply(exported)).result).toContain('0 to change')
  })

  it('are changed where they are always there, and neither created nor deleted', async () => {
    const settings = {
      kind: 'oauth_setting',
      name: 'automations',
      spec: {
        enabled: true,
        issuer: 'https://idp.example.com',
        token_url: 'https://idp.example.com/token',
        audiences: ['https://platform.test'],
      },
    }
    const client = { kind: 'oauth_client', name: 'acme-digest', spec: { client_id: '0oa1' } }
    const files = yaml(settings, client)
    const planned = await run.apply(files, '--dry-run')
    expect(planned.result).toContain(
      'oauth_setting "automations": change\n    enabled: false -> true\n',
    )
    expect(planned.result).toContain('0 to create, 2 to change, 0 to delete, 0 unchanged.\n')
    expect(await platform.sql`select from automation_oauth`).toHaveLength(0)
    expect(await run.apply(files, '--prune')).toMatchObject({ code: 0, problem: '' })
    expect((await run.apply(files)).result).toContain('2 unchanged')
    const [stored] = await platform.sql`select issuer, scope from automation_oauth`
    expect(stored).toEqual({ issuer: 'https://idp.example.com', scope: 'platform_automations' })
    const bound = await platform.sql`select slug from deployments where oauth_client_id = '0oa1'`
    expect(bound).toEqual([{ slug: 'acme-digest' }])
    expect((await run.apply(await run.export(), '--prune')).result).toContain('0 to change')
  })

  it('are refused where there is none to change, and with what the platform refuses', async () => {
    const refused = await run.apply(
      yaml(
        {
          kind: 'oauth_setting',
          name: 'automation',
          spec: { enabled: false, issuer: 'x', audiences: ['a'] },
        },
        { kind: 'oauth_client', name: 'rival-digest', spec: {} },
        {
          kind: 'oauth_setting',
          name: 'automations',
          spec: { enabled: true, issuer: 'http://10.0.0.1', audiences: ['a'] },
        },
      ),
    )
    expect(refused).toMatchObject({ code: 2, result: '' })
    expect(refused.problem).toMatch(/no oauth_setting "automation", and files create none. Did you/)
    expect(refused.problem).toContain('There is no oauth_client "rival-digest"')
    expect(refused.problem).toContain('Issuer: only https:// is safe.')
  })
})
