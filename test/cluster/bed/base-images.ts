import { existsSync, readFileSync } from 'node:fs'
import { copyFile, cp, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { imagesOf } from '../../../infra/images/references.ts'
import { findPostgresBinaries } from '../../../services/local/postgres-binaries.ts'
import { command } from './command.ts'
import { fingerprintOf } from './fingerprint.ts'
import { SANDBOX_IMAGE } from './node.ts'
import { places, repository } from './places.ts'
import { buildahEnv } from './storage.ts'
import { words } from './words.ts'

const definitions = join(import.meta.dirname, '../images')
const NPM_VERSION = '11.21.2'
const DEBIAN = 'bookworm'
const DEBIAN_PACKAGES = [
  'ca-certificates',
  'libstdc++6',
  'postgresql-client',
  'python3',
  'tzdata',
  // Of PostgreSQL: its own image makes a data directory for an id without a name by it.
  'libnss-wrapper',
  // Of BuildKit: its runtime, the maps of its users, and wget as its own image has it.
  'runc',
  'uidmap',
  'busybox',
]
const BUILDKIT_PROGRAMS = ['buildkitd', 'buildctl', 'rootlesskit']

/** An image that the bed makes itself, because the cluster has no registry to pull it from. */
interface BaseImage {
  readonly name: string
  readonly reference: string
  /** Puts what the Containerfile copies into a directory. */
  readonly prepare: (context: string) => Promise<void>
}

/** The images of the bed in the order in which they are built. */
export function baseImages(): readonly BaseImage[] {
  return [
    { name: 'debian', reference: `localhost/debian:${DEBIAN}`, prepare: bootstrapDebian },
    { name: 'node', reference: `docker.io/library/${nodeImage()}`, prepare: fetchNode },
    { name: 'postgres', reference: thirdParty('postgres'), prepare: copyPostgres },
    { name: 'python', reference: thirdParty('uv'), prepare: fetchUv },
    { name: 'buildkit', reference: thirdParty('buildkit'), prepare: copy(BUILDKIT_PROGRAMS) },
    { name: 'registry', reference: thirdParty('registry'), prepare: copy(['registry']) },
    { name: 'coredns', reference: 'localhost/coredns:1', prepare: copy(['coredns']) },
    { name: 'pause', reference: SANDBOX_IMAGE, prepare: copy(['pause']) },
  ]
}

/** The image from which the Dockerfile starts, such as `node:24.21.0-bookworm-slim`. */
function nodeImage(): string {
  const [, image] =
    /^FROM (node:\S+) AS build$/m.exec(readFileSync(join(repository, 'Dockerfile'), 'utf8')) ?? []
  if (image === undefined) throw new Error('the Dockerfile starts from no Node image')
  return image
}

function thirdParty(name: string): string {
  const found = imagesOf([]).foreign.find(({ reference }) => reference.includes(`/${name}:`))
  if (found === undefined) throw new Error(`the chart runs no image ${name}`)
  return found.reference
}

/** The image of uv and Python, under the name that builds start from. */
export const pythonReference = (): string => thirdParty('uv')

export const archiveOf = (name: string): string => join(places.images, `${name}.tar`)

/** True when an image and all before it are there as they would be built now. */
export const baseFingerprint = (name: string): string =>
  fingerprintOf(
    definitions,
    [`${name}.Containerfile`],
    [
      nodeImage(),
      NPM_VERSION,
      ...DEBIAN_PACKAGES,
      ...(name === 'buildkit' ? BUILDKIT_PROGRAMS : [name]).map(builtFrom),
      ...imagesOf([]).foreign.map(({ reference }) => reference),
    ],
  )

/** The state of the program that the image carries. */
function builtFrom(program: string): string {
  const record = join(places.programs, `${program}.built-from`)
  return existsSync(record) ? readFileSync(record, 'utf8') : ''
}

/** Builds one image and writes the archive that the node imports. */
export async function buildBaseImage({ name, reference, prepare }: BaseImage): Promise<void> {
  const context = join(places.images, name)
  await rm(context, { recursive: true, force: true })
  await mkdir(context, { recursive: true })
  await prepare(context)
  const definition = join(definitions, `${name}.Containerfile`)
  const log = join(places.images, `${name}.log`)
  const options = { env: buildahEnv(), timeoutMs: 20 * 60_000, log }
  await command(
    ['buildah', 'build', '--pull-never', '--file', definition, '--tag', reference, context],
    options,
  )
  await rm(archiveOf(name), { force: true })
  const archive = `docker-archive:${archiveOf(name)}:${reference}`
  if (name !== 'debian')
    await command(['buildah', 'push', reference, archive], { env: buildahEnv() })
  await rm(context, { recursive: true, force: true })
}

async function bootstrapDebian(context: string): Promise<void> {
  const root = join(context, 'root')
  const mirror = await aptMirror()
  const log = join(places.images, 'debootstrap.log')
  await command(
    words`debootstrap --variant=minbase --include=${DEBIAN_PACKAGES.join(',')}
      ${DEBIAN} ${root} ${mirror}`,
    { timeoutMs: 20 * 60_000, log },
  )
  const tar = ['tar', '--exclude=./var/cache/apt/archives/*.deb', '--exclude=./var/lib/apt/lists/*']
  await command([...tar, '-C', root, '-cf', join(context, 'debian.tar'), '.'], {
    timeoutMs: 5 * 60_000,
  })
  await rm(root, { recursive: true, force: true })
}

/**
 * The mirror that this machine installs its own packages from; debootstrap's default when it names
 * none.
 */
async function aptMirror(): Promise<string[]> {
  const listed = await command(
    words`apt-get indextargets --format $(REPO_URI)
      ${'Created-By: Packages'} ${`Codename: ${DEBIAN}`}`,
  ).catch(() => '')
  const [mirror = ''] = listed.split('\n')
  return mirror === '' ? [] : [mirror]
}

/**
 * Node and npm as their npm packages carry them, and the certificate authorities of this machine.
 */
async function fetchNode(context: string): Promise<void> {
  const version = nodeImage().replace(/^node:([\d.]+).*$/, '$1')
  const architecture = process.arch
  await unpack(context, `node-linux-${architecture}@${version}`)
  await rename(join(context, 'package/bin/node'), join(context, 'node'))
  await rm(join(context, 'package'), { recursive: true })
  await unpack(context, `npm@${NPM_VERSION}`)
  await rename(join(context, 'package'), join(context, 'npm'))
  const authorities = '/etc/ssl/certs/ca-certificates.crt'
  if (existsSync(authorities)) await copyFile(authorities, join(context, 'ca-certificates.crt'))
}

/** The package of uv on PyPI, in the version of the image. */
export const uvPackage = (): string => `uv==${thirdParty('uv').replace(/^.*:([\d.]+)-.*$/, '$1')}`

/** uv as its package on PyPI carries it, in the version that the image has in its tag. */
async function fetchUv(context: string): Promise<void> {
  const target = join(context, 'package')
  const install = words`python3 -m pip install --quiet --no-deps --target ${target} ${uvPackage()}`
  await command(install, { timeoutMs: 10 * 60_000 })
  await rename(join(target, 'bin/uv'), join(context, 'uv'))
  await rm(target, { recursive: true })
}

async function unpack(context: string, spec: string): Promise<void> {
  const printed = await command(['npm', 'pack', '--silent', spec], { cwd: context })
  const file = join(context, printed.trim().split('\n').at(-1) ?? '')
  await command(['tar', '-xzf', file, '-C', context])
  await rm(file)
}

async function copyPostgres(context: string): Promise<void> {
  const { native } = await findPostgresBinaries()
  await cp(native, join(context, 'native'), { recursive: true, verbatimSymlinks: true })
  const entrypoint = 'postgres-entrypoint.sh'
  await copyFile(join(definitions, entrypoint), join(context, entrypoint))
}

const copy = (programs: readonly string[]) => async (context: string) => {
  for (const name of programs) await copyFile(join(places.programs, name), join(context, name))
}
