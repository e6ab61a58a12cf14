import { cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../../infra/cli.ts'
import { differences } from '../../infra/output.ts'
import { contextOf, renderAll } from '../../infra/render.ts'
import type { Files } from '../../infra/template/manifests.ts'
import { chart, parseYaml, tree } from './support/platform.ts'

let directory = ''
let outDir = ''

/** What synth has written once, and the files that it writes at another time. */
let rendered = ''
let files: Files

beforeAll(async () => {
  rendered = await mkdtemp(join(tmpdir(), 'rendered-'))
  await run([], { outDir: join(rendered, 'dist') })
  files = renderAll(contextOf([], { name: 'platform', namespace: 'platform' }))
})

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'synth-'))
  outDir = join(directory, 'dist')
})

// The chart is built once, being the same for all values.
const synth = (...args: readonly string[]): Promise<string> =>
  run(args, { outDir, sources: () => ({ tree, chart }) })

async function file(name: string, content: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, content)
  return path
}

const copyRendered = (): Promise<void> => cp(join(rendered, 'dist'), outDir, { recursive: true })

const collector = async (): Promise<string> => readFile(join(outDir, '05-collector.yaml'), 'utf8')

describe('the committed dist/', () => {
  it('is what npm run synth writes', () => {
    expect(differences('dist', files)).toEqual([])
  })
})

describe('npm run synth', () => {
  it('writes the same bytes every time', () => {
    expect(differences(join(rendered, 'dist'), files)).toEqual([])
  })

  it('numbers the manifests in the order in which they are applied', async () => {
    await copyRendered()
    expect(await readdir(outDir)).toEqual([
      '01-network.yaml',
      '02-secrets.yaml',
      '03-bootstrap.yaml',
      '04-postgres.yaml',
      '05-collector.yaml',
      '06-internal-registry.yaml',
      '07-buildkit.yaml',
      '08-oauth.yaml',
      '09-web.yaml',
      '10-worker.yaml',
      '11-setup.yaml',
      '12-crews.yaml',
      'chart',
    ])
    await synth('--values', await file('v.yaml', 'collector: { enabled: false }'))
    expect(await readdir(outDir)).toContain('09-web.yaml')
    expect(await readdir(outDir)).not.toContain('05-collector.yaml')
  })

  it('writes YAML that reads back as the objects', async () => {
    await synth('--release', 'demo')
    const names = parseYaml(await collector()).map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    )
    expect(names).toEqual([
      'ServiceAccount demo-collector',
      'Service demo-collector',
      'Deployment demo-collector',
    ])
  })

  it('reads values of YAML, JSON and TypeScript, and lets later files win', async () => {
    const given = [
      await file('a.yaml', 'collector: { replicaCount: 7, port: 8181 }'),
      await file('b.json', '{"collector":{"replicaCount":8}}'),
      await file(
        'c.ts',
        'export const values: object = { collector: { replicaCount: 9 as number } }\n',
      ),
    ]
    await synth(...given.flatMap((each) => ['--values', each]))
    expect(await collector()).toContain('replicas: 9')
    expect(await collector()).toContain('containerPort: 8181')
    await synth(...given.slice(0, 2).flatMap((each) => ['--values', each]))
    expect(await collector()).toContain('replicas: 8')
  })

  it('answers --help and --explain without writing', async () => {
    expect(await synth('--help')).toContain('Usage: npm run synth')
    const explained = await synth('--explain', 'collector.config.retentionWeeks')
    expect(explained).toContain('default  "13"')
    expect(explained).toContain('templates/collector/deployment.yaml')
    await expect(synth('--explain', 'collector.prt')).rejects.toThrow(
      'did you mean collector.port?',
    )
    expect(await readdir(directory)).toEqual([])
  })

  it('explains a group by its members, and members of a list', async () => {
    const explained = await synth('--explain', 'collector.config')
    expect(explained).toContain('collector.config: How traces are kept.')
    expect(explained).toMatch(/collector\.config\.retentionWeeks +Weeks after which/)
    expect(await synth('--explain', 'web.tolerations')).toContain('member   effect: Taint effect.')
    expect(await synth('--explain', 'web.tolerations.effect')).toContain('NoExecute')
    const amount = await synth('--explain', 'web.resources.limits.ephemeral-storage')
    expect(amount).toContain('default  none')
    expect(amount).toContain('templates/web/deployment.yaml')
  })

  it.each([
    ['web.replica', 'there is no value web.replica; did you mean web.replicaCount?'],
    ['webb', 'there is no value webb; did you mean web?'],
    ['rbac.x', 'there is no value rbac.x; known keys: rbac.create'],
    ['web.port.x', 'there is no value below web.port: it is a whole number'],
  ])('names the nearest key for --explain %s', async (key, message) => {
    await expect(synth('--explain', key)).rejects.toThrow(message)
  })

  it('names the file of each mistake', async () => {
    const first = await file('a.yaml', 'web: { port: x }\noauth: { port: 3002 }')
    const second = await file(
      'b.yaml',
      'web: { resources: { limits: { memory: 1Mi } }, affinity: { nodeAffinity: null } }',
    )
    const mistakes = await synth('--values', first, '--values', second).catch(String)
    expect(mistakes).toMatch(/web\.port: expected a whole number.* \[.*a\.yaml\]/)
    expect(mistakes).toMatch(/web\.resources\.requests\.memory must not exceed.* \[.*b\.yaml\]/)
    expect(mistakes).toMatch(/web\.affinity\.nodeAffinity: null is no value here.* \[.*b\.yaml\]/)
  })
})

describe('--diff', () => {
  it('says what would change, object by object, and writes nothing', async () => {
    await copyRendered()
    expect(await synth('--diff', outDir)).toBe(`nothing would change in ${outDir}\n`)
    const values = await file(
      'v.yaml',
      'web: { replicaCount: 3 }\noauth: { enabled: false }\nenvVars: { LOG_LEVEL: debug }',
    )
    const changes = await synth('--values', values, '--diff', outDir)
    expect(changes).toContain('- Deployment platform-oauth\n')
    expect(changes).toContain('+ PodDisruptionBudget platform-web\n')
    expect(changes).toContain('~ Deployment platform-web\n    spec.replicas: 1 → 3\n')
    expect(changes).toContain(
      '    spec.template.spec.containers[web].env[LOG_LEVEL].value: "info" → "debug"\n',
    )
    expect(differences(outDir, files)).toEqual([])
  })

  it('never shows a secret', async () => {
    const first = await file('a.yaml', `secrets: { DB_PASSWORD: first }`)
    const second = await file('b.yaml', `secrets: { DB_PASSWORD: second }`)
    await synth('--values', first)
    const changes = await synth('--values', second, '--diff', outDir)
    expect(changes).toContain('    stringData.DB_PASSWORD: another value\n')
    expect(changes).not.toMatch(/first|second/)
  })

  it('needs a directory that is there', async () => {
    await expect(synth('--diff', join(directory, 'nowhere'))).rejects.toThrow('cannot read')
  })
})

describe('a synth that fails', () => {
  it.each([
    ['an unknown flag', ['--vals', 'x'], "Unknown option '--vals'"],
    ['a stray argument', ['production'], 'Unexpected argument'],
    ['a missing file', ['--values', 'nowhere.yaml'], 'cannot read nowhere.yaml'],
    ['a file of another kind', ['--values', 'package-lock.lock'], 'cannot read package-lock.lock'],
    ['a wrong release name', ['--release', 'Not_a_name'], 'release name'],
    ['an unknown value', ['--explain', 'nothing.like.it'], 'there is no value'],
  ])('says why, for %s, and leaves the last good output alone', async (_, args, message) => {
    await copyRendered()
    const before = await collector()
    await expect(synth(...args)).rejects.toThrow(message)
    expect(await collector()).toBe(before)
    expect(await readdir(directory)).toEqual(['dist'])
  })

  it.each([
    ['broken YAML', 'v.yaml', 'a: [', 'v.yaml'],
    ['broken TypeScript', 'v.ts', 'export const a = {', 'v.ts'],
    [
      'a module with two objects',
      'v.ts',
      'export const a = {}; export const b = {}',
      'exactly one object',
    ],
    ['a module that throws', 'v.ts', "throw new Error('boom')\nexport const a = {}", 'v.ts: boom'],
    [
      'a value that is wrong',
      'v.yaml',
      'collector: { port: x }',
      'collector.port: expected a whole number',
    ],
    ['a list instead of values', 'v.yaml', '[1]', 'values: expected a map'],
  ])('says why, for %s', async (_, ...[name, content, message]) => {
    await copyRendered()
    const before = await collector()
    await expect(synth('--values', await file(name, content))).rejects.toThrow(message)
    expect(await collector()).toBe(before)
  })

  it('never replaces a directory that holds anything else', async () => {
    await file('notes.txt', 'mine')
    await expect(synth('--out', directory)).rejects.toThrow('notes.txt')
    expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('mine')
  })

  it('tells with --check what is stale', async () => {
    await copyRendered()
    expect(await synth('--check')).toContain('is up to date')
    await writeFile(join(outDir, '05-collector.yaml'), 'changed')
    await expect(synth('--check')).rejects.toThrow('05-collector.yaml: differs')
  })
})
