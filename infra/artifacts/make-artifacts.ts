import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { listOf } from '../images/build-images.ts'
import { imagesOf } from '../images/references.ts'
import { chartMetadata } from '../chart-texts.ts'
import { contentOf } from './dockerfile.ts'
import type { Options } from './options.ts'
import { billOf } from './sbom.ts'

type Print = (text: string) => void

/** Makes the artifacts of a release, and pushes the chart when the options name a registry. */
export function makeArtifacts(options: Options, print: Print): void {
  const { out, mayBeDirty } = options
  if (isDirty() && !mayBeDirty)
    throw new Error('Commit your changes first, or give --dirty: the provenance names the commit.')
  mkdirSync(out, { recursive: true })
  const files = [
    packageChart(out),
    ...writeBills(options),
    write(out, 'images.txt', listOf(imagesOf([]))),
  ]
  const made = [...files.map(madeOf), ...imagesMade(options)]
  files.push(writeProvenance(options, made))
  const sums = files.map(madeOf).map(({ name, sha256 }) => `${sha256}  ${name}\n`)
  write(out, 'SHA256SUMS', sums.join(''))
  for (const file of files) print(`${file}\n`)
  const [chart = ''] = files
  if (options.registry !== undefined) push(chart, options)
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

const isDirty = (): boolean => git('status', '--porcelain', '--untracked-files=no') !== ''

/** The first Helm that is found. */
function findHelm(): string {
  const found = ['helm', 'helm4', 'helm3'].find((name) => spawnSync(name, ['version']).status === 0)
  if (found === undefined) throw new Error('No helm is installed, and it has to package the chart.')
  return found
}

function helm(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(findHelm(), args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}`)
  return stdout
}

function packageChart(out: string): string {
  helm('package', 'dist/chart', '--destination', out)
  return join(out, `${chartMetadata.name}-${chartMetadata.version}.tgz`)
}

function push(chart: string, { registry, plainHttp }: Options): void {
  const flags = plainHttp ? ['--plain-http'] : []
  helm('push', chart, `oci://${registry}/charts`, ...flags)
}

function write(out: string, name: string, text: string): string {
  const file = join(out, name)
  writeFileSync(file, text)
  return file
}

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const writeBills = ({ out, build }: Options): readonly string[] =>
  imagesOf([]).own.map(({ target, reference }) => {
    const version = chartMetadata.appVersion
    const bill = billOf({ target, reference, version, committedAt: committedAt(), build })
    return write(out, `${target}-image.cdx.json`, asJson(bill))
  })

const committedAt = (): string => new Date(git('log', '-1', '--format=%cI')).toISOString()

function writeProvenance({ out, builderId }: Options, made: readonly Made[]): string {
  const bases = new Set(imagesOf([]).own.map(({ target }) => contentOf(target).base))
  const statement = provenanceOf({
    made,
    version: chartMetadata.appVersion,
    commit: git('rev-parse', 'HEAD'),
    isDirty: isDirty(),
    finishedAt: new Date().toISOString(),
    builderId,
    materials: [
      { uri: 'file:package-lock.json', sha256: sha256Of('package-lock.json') },
      ...[...bases].map((base) => ({ uri: `pkg:docker/${base.replace(':', '@')}` })),
    ],
  })
  return write(out, 'provenance.intoto.json', asJson(statement))
}

const sha256Of = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex')

const madeOf = (file: string): Made => ({ name: basename(file), sha256: sha256Of(file) })

/** The images that were pushed, by the digests that their registry gave. */
function imagesMade({ digests }: Options): readonly Made[] {
  if (digests === undefined) return []
  const byReference: Readonly<Record<string, string>> = JSON.parse(readFileSync(digests, 'utf8'))
  return Object.entries(byReference).map(([reference, digest]) => {
    const sha256 = /^sha256:([a-f0-9]{64})$/.exec(digest)?.[1]
    if (sha256 === undefined)
      throw new Error(
        `${digests}: ${reference} needs a digest such as "sha256:…", not "${digest}".`,
      )
    return { name: reference.replace(/:[^:/]*$/, ''), sha256 }
  })
}

/** Something that was made, by its SHA-256 in hexadecimal. */
interface Made {
  readonly name: string
  readonly sha256: string
}

/** How something was made. */
interface Making {
  readonly made: readonly Made[]
  readonly version: string
  /** The commit of the sources. */
  readonly commit: string
  /** The tree had changes that no commit has. */
  readonly isDirty: boolean
  readonly finishedAt: string
  /** What else went in, by what identifies it. */
  readonly materials: readonly { readonly uri: string; readonly sha256?: string }[]
  /** Whoever made it, as a URI. */
  readonly builderId: string
}

/** The statement of in-toto, with the provenance of SLSA 1, about what was made. Not signed. */
const provenanceOf = ({
  made,
  version,
  commit,
  isDirty,
  finishedAt,
  materials,
  builderId,
}: Making) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: made.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: 'urn:crew-platform:artifacts:v1',
      externalParameters: { version, ...(isDirty && { uncommittedChanges: true }) },
      resolvedDependencies: [
        { uri: 'urn:crew-platform:sources', digest: { gitCommit: commit } },
        ...materials.map(({ uri, sha256 }) => ({
          uri,
          ...(sha256 !== undefined && { digest: { sha256 } }),
        })),
      ],
    },
    runDetails: { builder: { id: builderId }, metadata: { finishedOn: finishedAt } },
  },
})
