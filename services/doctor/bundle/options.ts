import type { EnvSource } from '../../shared/env.ts'
import type { AskOptions } from '../ask.ts'
import { CLUSTER_OPTIONS } from '../kubernetes/cluster.ts'
import type { ClusterOptions } from '../kubernetes/cluster.ts'
import { parseOptions, readUrl } from '../option-values.ts'

const TIMEOUT_MS = 15_000

/** The help text. */
export const BUNDLE_USAGE = `Usage: npm run doctor -- bundle [options]
       node doctor.mjs bundle [options]

Collects what helpers need to see, whatever of the installation works: reports, versions, objects
and events of the cluster, logs, metrics, settings, sizes of databases. It says what could not be
read, and redacts secrets and e-mail addresses.

  --out <file>         Where to write it; - is standard output. [platform-bundle-….tar.gz]
  --kubeconfig <file>  [KUBECONFIG, or ~/.kube/config; in a pod its service account]
  --context <name>     [the current one]
  --namespace <name>   Of the installation, also -n. [platform]
  --crews <namespace>  Where crews run. [<namespace>-crews]
  --crew-logs          Reads the logs of crews as well: they may have what people and models wrote.
  --no-cluster         Leaves the cluster out, such as beside npm start.
  --url <URL>          Asks this address for its report, with PLATFORM_DEBUG_TOKEN.
  --data <directory>   Reads settings and log of npm start from its data directory.
  --help
  Databases: DATABASE_URL, or DB_HOST and the like, and COLLECTOR_DATABASE_URL.

Exit code: 0 written, 3 nothing could be read, 64 wrong use.
`

/** Makes a bundle. */
export interface BundleCommand extends ClusterOptions, AskOptions {
  readonly kind: 'bundle'
  readonly out: string | undefined
  readonly hasCluster: boolean
  readonly crewNamespace: string | undefined
  readonly hasCrewLogs: boolean
  readonly url: string | undefined
  readonly data: string | undefined
}

/** Reads the command line behind `bundle`; undefined asks for help. Raises `invalid_request`. */
export function readBundleOptions(
  args: readonly string[],
  env: EnvSource,
): BundleCommand | undefined {
  const given = parse(args)
  if (given.help) return undefined
  return {
    kind: 'bundle',
    out: given.out,
    kubeconfig: given.kubeconfig,
    context: given.context,
    namespace: given.namespace,
    hasCluster: !given['no-cluster'],
    crewNamespace: given.crews,
    hasCrewLogs: given['crew-logs'] ?? false,
    url: given.url === undefined ? undefined : readUrl(given.url),
    data: given.data,
    token: env['PLATFORM_DEBUG_TOKEN'] ?? '',
    timeoutMs: TIMEOUT_MS,
  }
}

function parse(args: readonly string[]) {
  const options = {
    ...CLUSTER_OPTIONS,
    out: { type: 'string' },
    crews: { type: 'string' },
    'crew-logs': { type: 'boolean' },
    'no-cluster': { type: 'boolean' },
    url: { type: 'string' },
    data: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  return parseOptions(args, options)
}
