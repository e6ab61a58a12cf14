import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  BUILDERS,
  buildCommand,
  digestCommand,
  labelCommand,
  loadCommand,
  mirrorCommands,
  pushCommand,
  saveCommand,
} from './commands.ts'
import type { Builder } from './commands.ts'
import type { Options } from './options.ts'
import type { ChartImages, OwnImage } from './chart-images.ts'
import { imagesOf } from './references.ts'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { contentOf } from '../artifacts/dockerfile.ts'

type Command = readonly string[]
type Print = (text: string) => void

/** Builds the images and, as the options say, pushes or loads them. Raises when a command fails. */
export async function buildImages(options: Options, print: Print): Promise<void> {
  const images = imagesOf(options.overrides)
  if (options.isList) return print(listOf(images))
  const builder = options.builder ?? findBuilder()
  const directory = mkdtempSync(join(tmpdir(), 'platform-images-'))
  try {
    const own = await changedOf(images.own, { builder, options, directory }, print)
    for (const command of plan(options, { builder, images, own, directory })) {
      print(`${command.join(' ')}\n`)
      if (!options.isDryRun) await run(command)
    }
    if (options.digests !== undefined && !options.isDryRun)
      writeDigests(options.digests, pushedReferences(options, images), { builder, directory })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  print(advice(options, images))
}

/** One reference a line, as tools that fill mirrors read them. */
export const listOf = ({ own, foreign }: ChartImages): string =>
  [...own, ...foreign].map(({ reference }) => `${reference}\n`).join('')

type Changed = OwnImage & { readonly digest: string }

/** The images to build, with their digests; says which ones are built already. */
async function changedOf(
  own: readonly OwnImage[],
  { builder, options, directory }: Pick<Means, 'builder' | 'directory'> & { options: Options },
  print: Print,
): Promise<readonly Changed[]> {
  const digests = await knownDigests(own, join(directory, 'build'))
  const all = own.map((image) => ({ ...image, digest: digests[image.target] ?? '' }))
  if (options.extra.length > 0) return all
  return all.filter((image) => {
    const isUnchanged = isBuilt(builder, image, image.digest)
    if (isUnchanged) print(`${image.target}: unchanged, ${image.reference} is built\n`)
    return !isUnchanged
  })
}

interface Means {
  readonly builder: Builder
  readonly images: ChartImages
  /** Those of this repository that are to be built. */
  readonly own: readonly Changed[]
  readonly directory: string
}

/** The commands in their order. */
export function plan(
  options: Options,
  { builder, images, own, directory }: Means,
): readonly Command[] {
  const { thirdParty, push, cluster, extra, digests } = options
  const foreign = thirdParty ? images.foreign : []
  const references = pushedReferences(options, images)
  const digestFile = (reference: string) =>
    digests === undefined ? undefined : digestFileOf(directory, reference)
  const archive = join(directory, 'image.tar')
  return [
    ...own.map((image) => buildCommand(builder, image, extra)),
    ...foreign.flatMap((image) => mirrorCommands(builder, image)),
    ...(push
      ? references.map((reference) => pushCommand(builder, reference, digestFile(reference)))
      : []),
    ...(cluster === undefined
      ? []
      : references.flatMap((reference) => [
          ['rm', '-f', archive],
          saveCommand(builder, reference, archive),
          loadCommand(cluster, archive),
        ])),
  ]
}

const pushedReferences = ({ thirdParty }: Options, images: ChartImages): readonly string[] =>
  [...images.own, ...(thirdParty ? images.foreign : [])].map(({ reference }) => reference)

const digestFileOf = (directory: string, reference: string): string =>
  join(directory, `${reference.replaceAll(/[^\w.-]/g, '-')}.digest`)

/** Writes the digest that the registry gave to each pushed image. */
function writeDigests(
  file: string,
  references: readonly string[],
  { builder, directory }: Pick<Means, 'builder' | 'directory'>,
): void {
  const digests = references.map((reference) => [
    reference,
    builder === 'docker'
      ? rememberedDigest(reference)
      : readFileSync(digestFileOf(directory, reference), 'utf8').trim(),
  ])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(digests), null, 2)}\n`)
}

/** The digest under which docker has pushed an image to the registry of its reference. */
function rememberedDigest(reference: string): string {
  const [program = '', ...args] = digestCommand(reference)
  const { stdout } = spawnSync(program, args, { encoding: 'utf8' })
  const repository = reference.replace(/:[^:/]*$/, '').replace(/^docker\.io\//, '')
  const known: readonly string[] = JSON.parse(stdout)
  const digest = known.find((each) => each.startsWith(`${repository}@`))?.split('@')[1]
  if (digest === undefined) throw new Error(`docker does not know the digest of ${reference}.`)
  return digest
}

function findBuilder(): Builder {
  const found = BUILDERS.find((name) => spawnSync(name, ['--version']).status === 0)
  if (found !== undefined) return found
  throw new Error(
    `None of ${BUILDERS.join(', ')} is installed, and one of them has to build the images.`,
  )
}

async function run([program = '', ...args]: Command): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended: unknown[] = await once(child, 'close').catch((cause: unknown) => {
    throw new Error(`${program} cannot be started; is it installed?`, { cause })
  })
  if (ended[0] !== 0) throw new Error(`${program} ended with ${String(ended[0])}.`)
}

const WITH_REGISTRY = 'and install with --set global.image.registry=registry.example.com'
const ON_THIS_MACHINE = '(or minikube, k3s, containerd) for a cluster on this machine'

/** The next step of whoever has just built the images. */
function advice({ push, cluster, registry }: Options, images: ChartImages): string {
  const references = images.own.map(({ reference }) => `  ${reference}\n`).join('')
  const setting = registry === undefined ? '' : ` --set global.image.registry=${registry}`
  if (push || cluster !== undefined) {
    const install = `helm install platform dist/chart -n platform --create-namespace${setting}`
    return `\nThe cluster can run:\n${references}Install with: ${install}\n`
  }
  return `\nBuilt on this machine:\n${references}The nodes of a cluster do not see them yet. Either
  npm run images -- --registry registry.example.com --push     ${WITH_REGISTRY}
  npm run images -- --load kind                                ${ON_THIS_MACHINE}
`
}

/** All that the images are made of, or that decides what the bundles are. */
const SOURCES = [
  'Dockerfile',
  'infra/artifacts/dockerfile.ts',
  'infra/images',
  'node_modules/.package-lock.json',
  'package-lock.json',
  'package.json',
  'patches',
  'python',
  'scripts',
  'services',
  'tsconfig.json',
]
/** Which digests the images had with which sources: bundling takes some seconds of a core. */
const KNOWN = 'node_modules/.cache/images.json'

/** The digest of each image by its target; bundles into a directory after a change of sources. */
async function knownDigests(
  own: readonly OwnImage[],
  directory: string,
): Promise<Readonly<Record<string, string>>> {
  const sources = SOURCES.flatMap((path) => filesIn('.', path))
  const ofSources = hashOf('.', sources.filter((path) => !path.endsWith('.pyc')).toSorted())
  const known: Known = existsSync(KNOWN) ? JSON.parse(readFileSync(KNOWN, 'utf8')) : {}
  if (known.ofSources === ofSources && known.digests) return known.digests
  await bundle(directory)
  const digests = Object.fromEntries(own.map((each) => [each.target, digestOf(each, directory)]))
  keep({ ofSources, digests })
  return digests
}

interface Known {
  readonly ofSources?: string
  readonly digests?: Readonly<Record<string, string>>
}

/** Writes at once, since other runs may read; packages may belong to another user. */
function keep(known: Known): void {
  const fresh = `${KNOWN}.${process.pid}`
  try {
    mkdirSync(dirname(KNOWN), { recursive: true })
    writeFileSync(fresh, JSON.stringify(known))
    renameSync(fresh, KNOWN)
  } catch {
    // The next run bundles again.
  }
}

/** Bundles into a directory as the Dockerfile does. Raises when that fails. */
async function bundle(directory: string): Promise<void> {
  const program = ['scripts/bundle-and-run.cjs', 'scripts/build.ts', '--out', directory]
  await promisify(execFile)(process.execPath, program)
}

/**
 * The digest of what an image is made of: the Dockerfile, the locked packages, and what it takes
 * from the bundles in a directory. A change of another image's programs leaves it as it is.
 */
export function digestOf({ target }: OwnImage, directory: string): string {
  const { copied } = contentOf(target)
  const paths = copied.flatMap((path) => filesIn(directory, path)).toSorted()
  const hash = createHash('sha256')
  for (const file of ['Dockerfile', 'package-lock.json']) hash.update(readFileSync(file))
  return hash.update(hashOf(directory, paths)).digest('hex')
}

/** The hash of files below a directory, with their paths. */
function hashOf(directory: string, paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`\n${path}\n`).update(readFileSync(join(directory, path)))
  return hash.digest('hex')
}

function filesIn(directory: string, path: string): readonly string[] {
  if (statSync(join(directory, path)).isFile()) return [path]
  const names = readdirSync(join(directory, path), { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => join(path, name))
    .filter((name) => statSync(join(directory, name)).isFile())
}

/** Returns whether the builder has an image of this content under its reference. */
function isBuilt(builder: Builder, { reference }: OwnImage, digest: string): boolean {
  const [program = '', ...args] = labelCommand(builder, reference)
  return spawnSync(program, args, { encoding: 'utf8' }).stdout?.trim() === digest
}
