import { parseArgs } from 'node:util'

/** The help. */
export const USAGE = `Usage: npm run artifacts -- [options]

Makes what is published of a release beside its images, after npm run build: the chart as a package,
a bill of materials of each image (CycloneDX), the list of all images, the provenance of everything
(in-toto, SLSA 1) and checksums. Pushes the chart to the address given.

  --build DIR        directory with the bundles (default: build)
  --out DIR          directory to write to (default: build/artifacts)
  --digests FILE     the digests of the pushed images, as npm run images -- --digests writes them
  --builder-id URI   who makes the release, for the provenance (default: urn:crew-platform:by-hand)
  --dirty            make them of a tree with uncommitted changes; the provenance says so
  --push REGISTRY    push the package to oci://REGISTRY/charts
  --plain-http       push without TLS, to a registry on this machine
  --help             this text

Needs git, and helm 3 or 4. Exit code: 0 when all is done, 1 when something fails, 2 for a wrong
command line.
`

/** The command line, read. */
export interface Options {
  readonly build: string
  readonly out: string
  readonly digests?: string
  readonly builderId: string
  readonly registry?: string
  readonly plainHttp: boolean
  readonly mayBeDirty: boolean
}

/** Reads the command line; undefined when only the help is wanted. Raises for what is wrong. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      build: { type: 'string', default: 'build' },
      out: { type: 'string', default: 'build/artifacts' },
      digests: { type: 'string' },
      'builder-id': { type: 'string', default: 'urn:crew-platform:by-hand' },
      dirty: { type: 'boolean', default: false },
      push: { type: 'string' },
      'plain-http': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { build, out, digests, push: registry, 'builder-id': builderId } = values
  if (!URL.canParse(builderId))
    throw new Error(
      `--builder-id must be a URI such as https://ci.example.com; it is "${builderId}".`,
    )
  if (registry !== undefined && !/^[A-Za-z0-9.-]+(:\d+)?(\/[a-z0-9._/-]+)?$/.test(registry))
    throw new Error(
      `--push needs a registry such as registry.example.com:5000; it is "${registry}".`,
    )
  return {
    build,
    out,
    builderId,
    mayBeDirty: values.dirty,
    plainHttp: values['plain-http'],
    ...(digests !== undefined && { digests }),
    ...(registry !== undefined && { registry }),
  }
}
