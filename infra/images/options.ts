import { parseArgs } from 'node:util'
import { loadValuesFile } from '../template/load-values.ts'
import { BUILDERS, CLUSTERS } from './commands.ts'
import type { Builder, Cluster } from './commands.ts'

/** The help. */
export const USAGE = `Usage: npm run images -- [options] [-- options of the builder]

Builds the images of the platform and of the collector under the references that the chart runs:
those of which something changed since they were built on this machine, or all with options of the
builder, such as -- --pull --no-cache for new packages of the base image.

  --builder NAME    docker, podman or buildah (default: the first of them that is found)
  --registry HOST   the registry, as global.image.registry of the chart; overrides the values
  --values FILE     values of the installation, .ts, .yaml or .json: registry, paths and tags;
                    repeatable
  --third-party     also pull the images of others that the chart runs, under the references of the
                    values
  --push            push every image to its registry
  --digests FILE    with --push: write the digest of each pushed image, by its reference, as JSON
  --load CLUSTER    load them into a cluster on this machine: kind, minikube, k3s or containerd
  --list            print the references of all images that the chart runs with these values, one a
                    line, and build none: without values where those of others are published
  --dry-run         print the commands and run none
  --help            this text

Exit code: 0 when all is done, 1 when a command fails, 2 for a wrong command line.
`

/** The command line, read. */
export interface Options {
  readonly builder?: Builder
  readonly overrides: readonly unknown[]
  readonly registry?: string
  readonly thirdParty: boolean
  readonly push: boolean
  readonly digests?: string
  readonly cluster?: Cluster
  readonly isDryRun: boolean
  readonly isList: boolean
  /** Passed on to the builder's `build`. */
  readonly extra: readonly string[]
}

/**
 * Reads the command line; undefined when only the help is wanted. Raises for what is not
 * understood.
 */
export async function readOptions(args: readonly string[]): Promise<Options | undefined> {
  const end = args.indexOf('--')
  const { values } = parseArgs({
    args: end < 0 ? [...args] : args.slice(0, end),
    options: {
      builder: { type: 'string' },
      registry: { type: 'string' },
      values: { type: 'string', multiple: true, default: [] },
      'third-party': { type: 'boolean', default: false },
      push: { type: 'boolean', default: false },
      digests: { type: 'string' },
      load: { type: 'string' },
      list: { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { builder, registry, load, digests } = values
  checkPush(values)
  const files = await Promise.all(values.values.map(loadValuesFile))
  return {
    ...(builder !== undefined && { builder: oneOf('--builder', BUILDERS, builder) }),
    ...(registry !== undefined && { registry }),
    ...(digests !== undefined && { digests }),
    ...(load !== undefined && { cluster: oneOf('--load', CLUSTERS, load) }),
    overrides: registry === undefined ? files : [...files, { global: { image: { registry } } }],
    thirdParty: values['third-party'],
    push: values.push,
    isDryRun: values['dry-run'],
    isList: values.list,
    extra: end < 0 ? [] : args.slice(end + 1),
  }
}

function checkPush(given: {
  push: boolean
  digests?: string
  registry?: string
  values: string[]
}) {
  if (given.digests !== undefined && !given.push)
    throw new Error('--digests needs --push: a registry gives an image its digest.')
  if (given.push && given.registry === undefined && given.values.length === 0)
    throw new Error('--push needs --registry HOST, or --values with global.image.registry.')
}

function oneOf<T extends string>(option: string, allowed: readonly T[], given: string): T {
  const found = allowed.find((word) => word === given)
  if (found !== undefined) return found
  throw new Error(`${option} must be one of ${allowed.join(', ')}; it is "${given}".`)
}
