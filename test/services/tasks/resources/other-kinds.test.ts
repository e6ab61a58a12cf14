import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readKinds } from '../../../../services/tasks/resources/kinds.ts'
import type { Kind } from '../../../../services/tasks/resources/kinds.ts'
import { readDocuments } from '../../../../services/tasks/resources/documents.ts'
import { resolveDocuments } from '../../../../services/tasks/resources/resolve-documents.ts'
import { createState } from '../../../../services/tasks/resources/state.ts'
import { openReminders } from '../../web/resources/reminders-app.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'
import { createRunner, serveApp } from './support.ts'

let platform: Platform
let server: Awaited<ReturnType<typeof serveApp>>
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  const app = await openReminders(platform)
  server = await serveApp(app)
})
afterAll(async () => {
  await server.stop()
  await platform.close()
})
beforeEach(async () => {
  await platform.sql`delete from reminders`
})

const run = createRunner(() => ({ url: server.url, token }))

const reminder = (more: string, channel = 'chat'): string =>
  `kind: reminder\nname: Renew\nparent: acme-digest\nspec:\n  channel: ${channel}\n  ${more}\n`

const password = async (): Promise<unknown> =>
  (await platform.sql`select password from reminders`)[0]?.['password']

describe('a kind that apply has never heard of', () => {
  it('has secrets by reference, which are set with the row and never shown', async () => {
    const created = await run.apply(reminder('password: { env: A_SECRET }'))
    expect(created).toMatchObject({ code: 0, problem: '' })
    expect(created.result).toContain('    password: set, not shown\n')
    expect(await password()).toBe('hidden-1')
    const file = join(await mkdtemp(join(tmpdir(), 'secret-')), 'password')
    await writeFile(file, 'hidden-2\n')
    const moved = reminder(`password: { file: ${file} }`)
    const again = await run.apply(moved)
    expect(again.result).toContain('1 unchanged')
    expect(await password()).toBe('hidden-1')
    const renewed = await run.apply(moved, '--renew-secrets', '--json')
    expect(JSON.parse(renewed.result)).toMatchObject({
      documents: [{ action: 'change', changes: [{ field: 'password', secret: true }], done: true }],
    })
    expect(await password()).toBe('hidden-2')
    const exported = await run.export()
    expect(exported).toContain('# password is never exported: {env: NAME} or {file: PATH}')
    // Beside the reminder, what any platform has.
    const nothing = /^0 to create, 0 to change, 0 to delete, \d+ unchanged/m
    expect((await run.apply(exported)).result).toMatch(nothing)
    const all = [created, again, renewed, { exported }].map((each) => JSON.stringify(each)).join('')
    expect(all).not.toContain('hidden-')
  })

  it.each([
    [
      'password: hidden-3',
      /all.yaml:6:3: spec.password: A secret is not written into .*\{env: NAME/,
    ],
    ['password: { env: A_SECRET, file: x }', /A secret is not written into a document/],
    ['password: { env: NOT_SET }', /The variable NOT_SET is not set, or empty/],
    ['password: { file: nowhere }', /The file .*nowhere cannot be read: ENOENT/],
  ])('refuses the secret %s, and says what to write', async (line, problem) => {
    const refused = await run.apply(reminder(line))
    expect(refused).toMatchObject({ code: 2, result: '', problem: expect.stringMatching(problem) })
    expect(refused.problem).not.toContain('hidden-3')
    expect(await platform.sql`select from reminders`).toHaveLength(0)
  })

  it('has fixed fields, whose change is refused before anything is changed', async () => {
    await run.apply(reminder('days: [3]'))
    const moved = await run.apply(reminder('days: [4]', 'mail'))
    expect(moved).toMatchObject({ code: 2, result: '' })
    expect(moved.problem).toMatch(/^all.yaml:5:3: spec.channel: It cannot change\. /)
    expect((await run.apply(reminder(''))).result).toContain('days: [3] -> []')
  })
})

describe('kinds that belong to one another', () => {
  const kindOf = (kind: string, parent?: string): Kind => ({
    kind,
    path: `/${kind}s`,
    list: `${kind}s`,
    identity: 'name',
    most: 10,
    scope: 'design',
    parent:
      parent === undefined
        ? undefined
        : {
            noun: parent,
            path: `/${parent}s`,
            list: `${parent}s`,
            id: 'id',
            name: 'name',
          },
    made: undefined,
    makesSecret: undefined,
    isGiven: false,
    isDeletable: true,
    fields: {},
  })
  const kinds = [kindOf('folder', 'folder'), kindOf('page', 'folder'), kindOf('site')]
  const resolve = async (
    ...given: readonly (readonly [kind: string, name: string, parent?: string])[]
  ) => {
    const text = given
      .map(([kind, name, parent]) => JSON.stringify({ kind, name, parent }))
      .join('\n---\n')
    const state = createState(async () => ({ folders: [{ id: 1, name: 'root' }] }))
    const { documents } = readDocuments([{ path: 'a.yaml', text }])
    const resolved = await resolveDocuments(documents, kinds, state)
    return {
      names: resolved.documents.map(({ document: { name } }) => name),
      problems: resolved.problems.map(({ line, field, message }) => `${line} ${field} ${message}`),
    }
  }

  it('are made in the order of their parents', async () => {
    const found = await resolve(
      ['page', 'p', 'b'],
      ['folder', 'b', 'a'],
      ['folder', 'a', 'root'],
      ['site', 's'],
    )
    expect(found).toEqual({ names: ['a', 'b', 'p', 's'], problems: [] })
  })

  it('are refused in a circle, and below something unknown, once each', async () => {
    const { names, problems } = await resolve(
      ['folder', 'a', 'b'],
      ['folder', 'b', 'a'],
      ['page', 'p', 'a'],
      ['folder', 'c', 'rot'],
      ['page', 'q', 'c'],
      ['site', 's', 'root'],
    )
    expect(names).toEqual([])
    expect(problems).toEqual([
      '1 parent It is its own parent, by way of others or not.',
      '7 parent Your organization has no folder "rot". Did you mean root?',
      '11 parent A site belongs to the organization: leave it out.',
    ])
  })

  it('are none where a platform describes none', () => {
    expect(() => readKinds({ paths: {} })).toThrow(/describes nothing that is kept in files/)
  })
})
