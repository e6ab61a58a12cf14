import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packagesIn } from '../../infra/artifacts/sbom.ts'
import { chartMetadata } from '../../infra/chart-texts.ts'
import { contentOf } from '../../infra/artifacts/dockerfile.ts'
import { readOptions } from '../../infra/artifacts/options.ts'
import { billOf } from '../../infra/artifacts/sbom.ts'
import { imagesOf } from '../../infra/images/references.ts'
import { helms } from './support/helm.ts'
import { startChartRegistry } from './support/chart-registry.ts'
import { runToolBeside } from './support/tools.ts'

const directory = mkdtempSync(join(tmpdir(), 'artifacts-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Source maps as bundles have them, of packages that are installed. */
const SOURCES = {
  collector: ['../../node_modules/prom-client/index.js', '../../services/collector/main.ts'],
  web: ['../../node_modules/hono/dist/hono.js', '../../node_modules/hono/dist/context.js'],
  worker: ['../../node_modules/@opentelemetry/api/build/src/api.js'],
}
const build = join(directory, 'build')
for (const { programs } of [contentOf('platform'), contentOf('collector')]) {
  for (const program of programs) {
    mkdirSync(join(build, program), { recursive: true })
    const sources = Reflect.get(SOURCES, program) ?? []
    writeFileSync(join(build, program, 'main.js.map'), JSON.stringify({ sources }))
  }
}

const facts = { version: '1.2.3', committedAt: '2026-01-02T03:04:05.000Z', build }
const bills = imagesOf([]).own.map((image) => billOf({ ...image, ...facts }))

describe('the bill of materials of an image', () => {
  it('has the packages whose code is in its bundles, as they are locked', () => {
    const [platform, collector] = bills.map(({ components }) => components)
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
    const { version, integrity } = lock['node_modules/hono']
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
    expect(platform).toMatchObject([
      {
        name: '@opentelemetry/api',
        purl: expect.stringMatching(/^pkg:npm\/%40opentelemetry\/api@/),
      },
      {
        name: 'hono',
        version,
        licenses: [{ license: { id: 'MIT' } }],
        hashes: [{ alg: 'SHA-512', content }],
      },
      // The collector's commands belong to the tasks.
      { name: 'prom-client' },
      { name: 'crew-runtime', version: '1.2.3' },
      { type: 'container', name: 'node' },
    ])
    expect(collector?.map(({ name }) => name)).toEqual(['prom-client', 'node'])
  })

  it('is refused while a bundle is missing, or holds what is not locked', () => {
    expect(() => packagesIn(['nothing'], build)).toThrow('run npm run build first')
    mkdirSync(join(build, 'odd'))
    const sources = ['../../node_modules/of-nobody/index.js']
    writeFileSync(join(build, 'odd', 'main.js.map'), JSON.stringify({ sources }))
    expect(() => packagesIn(['odd'], build)).toThrow('does not have node_modules/of-nobody')
  })

  it('names each component once, and the image that it builds upon', () => {
    for (const { components, dependencies } of bills) {
      const references = components.map((component) => component['bom-ref'])
      expect(new Set(references).size).toBe(references.length)
      expect(dependencies[0]?.dependsOn).toEqual(references)
      expect(references).toContainEqual(expect.stringMatching(/^pkg:docker\/node@\d/))
    }
  })

  it('is the same for the same sources', () => {
    const again = imagesOf([]).own.map((image) => billOf({ ...image, ...facts }))
    expect(again).toEqual(bills)
  })
})

describe('the Dockerfile', () => {
  it('says what an image has', () => {
    const { base, programs, hasPython } = contentOf('collector')
    expect([base, programs, hasPython]).toEqual([
      expect.stringMatching(/^node:/),
      ['collector'],
      false,
    ])
    expect(contentOf('platform').programs).toEqual(
      expect.arrayContaining(['web', 'worker', 'oauth', 'crew', 'doctor']),
    )
  })

  it('is refused for a target that it does not have', () => {
    expect(() => contentOf('nothing')).toThrow('no stage nothing')
  })
})

describe('the command line of npm run artifacts', () => {
  it.each([
    [['--builder-id', 'me'], '--builder-id must be a URI'],
    [['--push', 'https://registry.example.com'], '--push needs a registry'],
    [['--pushh'], '--pushh'],
  ])('refuses %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(message)
  })
})

if (helms.length === 0) console.log('No helm on the PATH: npm run artifacts is not run.')

describe.skipIf(helms.length === 0)('npm run artifacts', () => {
  const read = (name: string): string => readFileSync(join(directory, 'out', name), 'utf8')
  let output: Awaited<ReturnType<typeof runToolBeside>>
  let registry: Awaited<ReturnType<typeof startChartRegistry>>
  beforeAll(async () => {
    registry = await startChartRegistry()
    const digests = join(directory, 'digests.json')
    writeFileSync(digests, JSON.stringify({ 'r:5000/a/b:1': `sha256:${'b'.repeat(64)}` }))
    const options = [
      '--build',
      build,
      '--out',
      join(directory, 'out'),
      '--digests',
      digests,
      '--dirty',
      '--push',
      registry.address,
      '--plain-http',
    ]
    const args = ['scripts/bundle-and-run.cjs', 'infra/artifacts/main.ts', ...options]
    output = await runToolBeside(process.execPath, args)
  })
  afterAll(() => registry.stop())

  it('packages the chart, with its licence, and without what people leave about', () => {
    expect(output.stderr).toBe('')
    const [archive = ''] = readdirSync(join(directory, 'out')).filter((name) =>
      name.endsWith('tgz'),
    )
    expect(archive).toMatch(/^platform-\d+\.\d+\.\d+\.tgz$/)
    const { stdout } = spawnSync('tar', ['-tzf', join(directory, 'out', archive)], {
      encoding: 'utf8',
    })
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['platform/Chart.yaml', 'platform/LICENSE', 'platform/README.md']),
    )
  })

  it('pushes the chart to a registry, as it is packaged', () => {
    const { name, version } = chartMetadata
    const [pushed] = registry.contentOf(`charts/${name}:${version}`)
    expect(pushed).toEqual(readFileSync(join(directory, 'out', `${name}-${version}.tgz`)))
  })

  it('states the provenance of every file and image, by digests that are right', () => {
    const { subject, predicate } = JSON.parse(read('provenance.intoto.json'))
    const digests = Object.fromEntries(
      subject.map(({ name, digest }: { name: string; digest: { sha256: string } }) => [
        name,
        digest.sha256,
      ]),
    )
    expect(digests['r:5000/a/b']).toBe('b'.repeat(64))
    const bill = createHash('sha256').update(read('platform-image.cdx.json')).digest('hex')
    expect(digests['platform-image.cdx.json']).toBe(bill)
    expect(predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit).toMatch(
      /^[a-f0-9]{40}$/,
    )
    expect(read('SHA256SUMS')).toContain(`${bill}  platform-image.cdx.json`)
    expect(read('images.txt')).toContain('docker.io/library/postgres:')
  })
})
