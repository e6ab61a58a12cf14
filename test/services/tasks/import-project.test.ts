import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { runProgram } from '../../support/program.ts'
import { useDatabase } from '../../support/use-database.ts'
import { agentJson, crewJson } from '../platform/projects/crewai/project.ts'

const database = useDatabase()

async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'project-'))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
  return directory
}

const importFrom = (...args: string[]) =>
  runProgram('tasks', ['designer:import', ...args], {
    DATABASE_URL: database.url,
    LOG_LEVEL: 'silent',
  })

const PROJECT = { 'crew.jsonc': crewJson(), 'agents/writer.jsonc': agentJson() }
const WITH_TOOL = { ...PROJECT, 'agents/writer.jsonc': agentJson({ tools: ['SerperDevTool'] }) }

describe('designer:import', () => {
  it('stores a draft in a project of the organization', async () => {
    await ensureOrganization(database.sql, { name: 'Acme' })
    const directory = await directoryWith(PROJECT)
    const { code, stdout } = await importFrom(directory, '--organization', 'Acme')
    expect(code).toBe(0)
    expect(stdout).toMatch(/Stored as version 1, a draft, of the project Reports \(\d+\)\.\n$/)
    const again = await importFrom(directory, '--organization=Acme', '--project=Other', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ problems: [], version: { number: 1 } })
    const versions = await database.sql`
      select p.name, v.number, v.published_at, v.definition->>'name' as crew
      from project_versions v join projects p on p.id = v.project_id order by p.name`
    expect(versions).toEqual([
      { name: 'Other', number: 1, publishedAt: null, crew: 'Reports' },
      { name: 'Reports', number: 1, publishedAt: null, crew: 'Reports' },
    ])
  })

  it('ends with 2 when something would be left out, and with 0 when that is accepted', async () => {
    const directory = await directoryWith(WITH_TOOL)
    const refused = await importFrom(directory, '--json')
    expect(refused.code).toBe(2)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      problems: [{ file: 'agents/writer.jsonc', key: 'tools[0]', level: 'left_out' }],
      refusal: expect.stringMatching(/without what one problem is about/),
    })
    const accepted = await importFrom(directory, '--leave-out')
    expect(accepted.code).toBe(0)
    expect(accepted.stdout).toMatch(/^left out: agents\/writer.jsonc: tools\[0\]: The tool Serper/)
    expect(accepted.stdout).toMatch(/It can be imported. Name an --organization/)
  })

  it('reads no hidden folders, no environments and no links', async () => {
    const other = await directoryWith({ 'crew.jsonc': crewJson({ name: 'Other' }) })
    const directory = await directoryWith({
      ...PROJECT,
      '.venv/crew.py': 'x',
      'node_modules/crew.jsonc': '{',
    })
    await symlink(join(other, 'crew.jsonc'), join(directory, 'crew.json'))
    const { stdout } = await importFrom(directory, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ definition: { name: 'Reports' }, problems: [] })
  })

  it.each([
    [[], 1, 'Name one directory.'],
    [['/nowhere'], 1, '/nowhere is not a directory that can be read.'],
    [['.', '--publish'], 1, "Unknown option '--publish'"],
    [['a', 'b'], 1, 'Name one directory.'],
  ])('refuses %j, with what is allowed', async (args, expected, told) => {
    const { code, stderr } = await importFrom(...args)
    expect([code, stderr]).toEqual([expected, expect.stringContaining(told)])
  })

  it('explains itself', async () => {
    const { code, stdout } = await importFrom('--help')
    expect([code, stdout]).toEqual([0, expect.stringContaining('--leave-out')])
  })
})
