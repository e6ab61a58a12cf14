import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { contentOf } from '../../infra/artifacts/dockerfile.ts'
import { digestOf } from '../../infra/images/build-images.ts'
import { listOf, plan } from '../../infra/images/build-images.ts'
import { CLUSTERS } from '../../infra/images/commands.ts'
import type { Builder } from '../../infra/images/commands.ts'
import { readOptions } from '../../infra/images/options.ts'
import { imagesOf } from '../../infra/images/references.ts'
import { isLong } from '../support/long.ts'

const commandsOf = async (builder: Builder, ...args: string[]): Promise<readonly string[]> => {
  const options = await readOptions(args)
  if (!options) throw new Error('only the help')
  const images = imagesOf(options.overrides)
  const own = images.own.map((image) => ({ ...image, digest: 'd' }))
  const means = { builder, images, own, directory: '/tmp/x' }
  return plan(options, means).map((words) => words.join(' '))
}

test('every image of the default manifests is one that npm run images builds or mirrors', () => {
  const { own, foreign } = imagesOf([])
  const known = [...own, ...foreign].map(({ reference }) => reference)
  const documents = ['04-postgres', '05-collector', '06-internal-registry', '07-buildkit', '09-web']
  for (const name of documents) {
    const text = readFileSync(`dist/${name}.yaml`, 'utf8')
    for (const [, image = ''] of text.matchAll(/^ *(?:- )?image: (\S+)$/gm)) {
      const reference = String(parse(image))
      expect(known).toContainEqual(expect.stringMatching(new RegExp(`(^|/)${reference}$`)))
    }
  }
})

test('both images are built under the references of the chart', async () => {
  const [platform, collector] = imagesOf([]).own.map(({ reference }) => reference)
  expect(await commandsOf('docker')).toEqual([
    `docker build --target platform --tag ${platform} --label crew-platform.content=d .`,
    `docker build --target collector --tag ${collector} --label crew-platform.content=d .`,
  ])
})

test('with a registry they are pushed to where global.image.registry points', async () => {
  const commands = await commandsOf('podman', '--registry', 'r.example:5000', '--push')
  expect(commands.filter((line) => line.startsWith('podman push'))).toEqual([
    expect.stringMatching(/^podman push r\.example:5000\/crew-platform\/platform:[\d.]+$/),
    expect.stringMatching(/^podman push r\.example:5000\/crew-platform\/collector:[\d.]+$/),
  ])
})

test('for a mirror the images of others come along, under the one path of the mirror', async () => {
  const values = ['--values', 'infra/overrides/air-gapped.ts']
  const commands = await commandsOf('docker', ...values, '--third-party', '--push')
  const mirror = 'mirror.example.internal:5000/platform-mirror'
  expect(commands).toContainEqual(
    expect.stringMatching(
      new RegExp(`^docker tag docker.io/moby/buildkit:\\S+ ${mirror}/buildkit:`),
    ),
  )
  const pushed = commands.filter((line) => line.startsWith('docker push'))
  expect(pushed).toHaveLength(6)
  for (const line of pushed) expect(line).toContain(`${mirror}/`)
})

test('the list for mirrors has every image, by the values', () => {
  const overrides = [{ global: { image: { registry: 'r.example:5000' } } }]
  const lines = listOf(imagesOf(overrides)).trimEnd().split('\n')
  const { own, foreign } = imagesOf(overrides)
  expect(lines).toEqual([...own, ...foreign].map(({ reference }) => reference))
  for (const line of lines) expect(line).toMatch(/^r\.example:5000\/[\w./-]+:[\w.-]+$/)
  expect(listOf(imagesOf([]))).toContain('docker.io/library/postgres:')
})

test('the chart names the images for catalogues, as it runs them', () => {
  const { annotations } = parse(readFileSync('dist/chart/Chart.yaml', 'utf8'))
  const named: readonly { name: string; image: string }[] = parse(
    annotations['artifacthub.io/images'],
  )
  expect(named.map(({ image }) => `${image}\n`).join('')).toBe(listOf(imagesOf([])))
  expect(named.map(({ name }) => name)).toContain('postgres')
})

test.each(['podman', 'buildah'] as const)(
  '%s writes the digests of its pushes',
  async (builder) => {
    const args = ['--registry', 'r.example:5000', '--push', '--digests', 'digests.json']
    const pushes = (await commandsOf(builder, ...args)).filter((line) => line.includes(' push '))
    for (const line of pushes) expect(line).toMatch(/ push --digestfile \/tmp\/x\/r\.example-5000-/)
  },
)

test.each(CLUSTERS)('--load %s saves an archive of each image and loads it', async (cluster) => {
  const commands = await commandsOf('buildah', '--load', cluster)
  const [platform] = imagesOf([]).own
  expect(commands).toContain(
    `buildah push ${platform?.reference} docker-archive:/tmp/x/image.tar:${platform?.reference}`,
  )
  expect(commands.at(-1)).toMatch(/ (load|import|image-archive) \/tmp\/x\/image\.tar$/)
})

test.each([
  ['a push without a registry', ['--push'], /--registry/],
  ['digests without a push', ['--digests', 'x'], /--push/],
  ['a cluster that is not known', ['--load', 'nomad'], /kind, minikube, k3s, containerd/],
  ['a builder that is not known', ['--builder', 'kaniko'], /docker, podman, buildah/],
  ['an option that is not known', ['--pushh'], /--pushh/],
])('%s is refused with what is allowed', async (_what, args, message) => {
  await expect(readOptions(args)).rejects.toThrow(message)
})

/** Runs the program with a directory of stand-ins for docker first in its path. */
function runWith(script: string, args: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'docker-'))
  try {
    writeFileSync(join(directory, 'docker'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(directory, 'docker'), 0o755)
    const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}` }
    const node = ['scripts/bundle-and-run.cjs', 'infra/images/main.ts', ...args]
    return spawnSync(process.execPath, node, { env, encoding: 'utf8' })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('a build that fails ends with 1 and says which program failed', () => {
  const { status, stderr } = runWith('test "$1" = --version', [])
  expect(status).toBe(1)
  expect(stderr).toContain('docker ended with 1')
})

/** A docker that remembers the label of each image that it built, and says what it does. */
const REMEMBERING = `
case $1 in
build) echo "$7" | sed 's/.*=//' > "$STATE/$3" ;;
image) cat "$STATE/$(echo "$5" | sed 's/:.*//; s|.*/||')" 2>/dev/null ;;
esac`

/** After a change of sources, the first run bundles all programs: some seconds of a core. */
test('the first builder that is found builds what changed, or all with options of its own', () => {
  const state = mkdtempSync(join(tmpdir(), 'built-'))
  const build = (...args: string[]) => runWith(`STATE=${state}${REMEMBERING}`, args).stdout
  const saidBy = (stdout: string) =>
    stdout.split('\n').filter((line) => /^docker build|unchanged/.test(line))
  try {
    const both = [
      expect.stringMatching(/^docker build --target platform /),
      expect.stringMatching(/^docker build --target collector /),
    ]
    const first = build()
    expect(saidBy(first)).toEqual(both)
    expect(first).toContain('npm run images -- --load kind')
    if (isLong) {
      expect(saidBy(build('--', '--pull'))).toEqual(both)
      const of = { ofSources: 'of former sources', digests: { platform: 'p', collector: 'c' } }
      writeFileSync('node_modules/.cache/images.json', JSON.stringify(of))
      expect(saidBy(build())).toEqual([
        expect.stringMatching(/^platform: unchanged/),
        expect.stringMatching(/^collector: unchanged/),
      ])
    }
    writeFileSync(join(state, 'collector'), 'of former sources')
    expect(saidBy(build())).toEqual([
      expect.stringMatching(/^platform: unchanged, docker\.io\/crew-platform\/platform:/),
      both[1],
    ])
  } finally {
    rmSync(state, { recursive: true })
  }
})

test('what the image of the collector is made of leaves the programs of the platform out', () => {
  const directory = mkdtempSync(join(tmpdir(), 'bundles-'))
  const [platform, collector] = imagesOf([]).own
  if (!platform || !collector) throw new Error('there are two images')
  const digests = () => [platform, collector].map((image) => digestOf(image, directory))
  try {
    for (const path of new Set(
      [platform, collector].flatMap(({ target }) => contentOf(target).copied),
    )) {
      const folder = path.endsWith('.mjs') ? directory : join(directory, path)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, path.endsWith('.mjs') ? path : 'main.js'), path)
    }
    const before = digests()
    expect(digests()).toEqual(before)
    writeFileSync(join(directory, 'web/main.js'), 'changed')
    const after = digests()
    expect(after[0]).not.toBe(before[0])
    expect(after[1]).toBe(before[1])
    // The one of the platform rehearses upgrades with both.
    writeFileSync(join(directory, 'collector/main.js'), 'changed')
    for (const [index, digest] of digests().entries()) expect(digest).not.toBe(after[index])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test.runIf(isLong)('docker is asked for the digests that the registry gave', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const directory = mkdtempSync(join(tmpdir(), 'digests-'))
  const file = join(directory, 'digests.json')
  const script =
    'if [ "$2" = inspect ]; then echo "[\\"other@sha256:0\\",\\"${5%:*}@' + digest + '\\"]"; fi'
  const args = ['--registry', 'r.example:5000', '--push', '--digests', file]
  try {
    expect(runWith(script, args)).toMatchObject({ status: 0, stderr: '' })
    const digests = JSON.parse(readFileSync(file, 'utf8'))
    const [platform, collector] = imagesOf([
      { global: { image: { registry: 'r.example:5000' } } },
    ]).own.map(({ reference }) => reference)
    expect(digests).toEqual({ [platform ?? '']: digest, [collector ?? '']: digest })
  } finally {
    rmSync(directory, { recursive: true })
  }
})
