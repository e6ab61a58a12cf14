import { createHash } from 'node:crypto'
import { contentOf } from './dockerfile.ts'
import { readFileSync } from 'node:fs'

/** The image that a bill of materials is about. */
interface Subject {
  readonly target: string
  readonly reference: string
  /** The version of the platform. */
  readonly version: string
  /** When its sources were committed, so that the same sources have the same bill. */
  readonly committedAt: string
  /** The directory with the bundles. */
  readonly build: string
}

/**
 * The bill of materials of an image in CycloneDX 1.6: the packages whose code is in its bundles,
 * the platform's own package for Python, and the image that it builds upon.
 */
export function billOf({ target, reference, version, committedAt, build }: Subject) {
  const { base, programs, hasPython } = contentOf(target)
  const [, name = '', tag = ''] = /^(.*):([^:/]+)$/.exec(reference) ?? []
  const components = [
    ...packagesIn(programs, build).map(libraryOf),
    ...(hasPython ? [pythonPackage(version)] : []),
    containerOf(base),
  ]
  const subject = { type: 'container', 'bom-ref': reference, name, version: tag }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: serialOf(JSON.stringify([subject, components])),
    version: 1,
    metadata: { timestamp: committedAt, component: subject },
    components,
    dependencies: [
      { ref: reference, dependsOn: components.map((component) => component['bom-ref']) },
    ],
  }
}

function libraryOf({ name, version, license, integrity }: BundledPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license !== undefined && {
      licenses: [
        / (?:OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } },
      ],
    }),
    ...(integrity !== undefined && { hashes: [hashOf(integrity)] }),
  }
}

/** `sha512-…` in Base64 as CycloneDX has it. */
function hashOf(integrity: string) {
  const [algorithm = '', digest = ''] = integrity.split('-')
  return {
    alg: algorithm.toUpperCase().replace('SHA', 'SHA-'),
    content: Buffer.from(digest, 'base64').toString('hex'),
  }
}

function pythonPackage(version: string) {
  const purl = `pkg:pypi/crew-runtime@${version}`
  return { type: 'library', 'bom-ref': purl, name: 'crew-runtime', version, purl }
}

function containerOf(image: string) {
  const [, name = '', version = ''] = /^(.*?):(.*)$/.exec(image) ?? []
  const purl = `pkg:docker/${name}@${version}`
  return { type: 'container', 'bom-ref': purl, name, version, purl }
}

/** A UUID of what a bill says, so that it changes only with that. */
function serialOf(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return `urn:uuid:${[...parts, hex.slice(20, 32)].join('-')}`
}

/** A package whose code is in a bundle. */
interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly license: string | undefined
  /** As the lockfile has it: an algorithm and a digest in Base64. */
  readonly integrity: string | undefined
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage | undefined>>
}

interface LockedPackage {
  readonly version: string
  readonly license?: string
  readonly integrity?: string
}

/**
 * Returns the packages whose code is in the bundles of some programs, by their source maps. Raises
 * when a program has not been built, or holds a package that is not locked.
 */
export function packagesIn(programs: readonly string[], build: string): readonly BundledPackage[] {
  const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const folders = new Set(
    programs.flatMap((program) => foldersIn(`${build}/${program}/main.js.map`)),
  )
  return [...folders].toSorted().map((folder) => {
    const locked = packages[folder]
    if (!locked) throw new Error(`package-lock.json does not have ${folder}: run npm ci.`)
    const { version, license, integrity } = locked
    return { name: folder.split('node_modules/').at(-1) ?? folder, version, license, integrity }
  })
}

const PACKAGE_FOLDER = /(?:node_modules\/(?:@[^/]+\/)?[^/]+\/?)+(?=\/)/

/** The folders of packages, such as `node_modules/hono`, from which a bundle has code. */
function foldersIn(file: string): readonly string[] {
  const { sources } = mapIn(file)
  return sources.flatMap((source) => {
    const [folder] = PACKAGE_FOLDER.exec(source) ?? []
    return folder === undefined ? [] : [folder]
  })
}

function mapIn(file: string): { readonly sources: readonly string[] } {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`${file} cannot be read: run npm run build first.`, { cause })
  }
}
