import type { EnvSource } from '../shared/env.ts'
import type { AskOptions } from './ask.ts'
import { CLUSTER_OPTIONS } from './kubernetes/cluster.ts'
import type { ClusterOptions } from './kubernetes/cluster.ts'
import { parseOptions, readList, readSeconds, readToken, readUrl, wrong } from './option-values.ts'
import type { Selection } from './selection.ts'

const WAIT_SECONDS = 300
const TIMEOUT_SECONDS = 15
/** A node may have to fetch hundreds of megabytes. */
const PULL_TIMEOUT_SECONDS = 300

/** The help text. */
export const USAGE = `Usage: npm run doctor -- --url <base URL> [options]
       npm run doctor -- --pre [options]
       npm run doctor -- --plan '10M spans/day, 5 runs/s, 90 days' [options]
       npm run doctor -- --from-now [options]
       npm run doctor -- bundle [options]
       npm run doctor -- --fix --url <base URL> [options]
       node doctor.mjs …

Asks a platform for its diagnostic report. In a pod of web it asks that pod without any option.
With --pre it checks, before an installation, what the installation needs. With --plan it prints
the values for a load. \`bundle\` collects what helpers need to see, and --fix fixes what has a
command for it; bundle --help and --fix --help have their options.

  --url <URL>          Where the platform is, such as https://platform.example.com.
  --pods <URL,URL,…>   Asks each pod of web directly instead, and compares their OAuth keys.
  --token <token>      The debug token. PLATFORM_DEBUG_TOKEN is the better place: it does not
                       show in the process list.

  --pre                Checks cluster, rights, storage, registry, databases, identity provider,
                       egress and clocks before an installation.
  --values <file>      The values of the installation, in YAML or JSON; may be repeated.
  --image <image>      Looks for this image instead of those of the values; may be repeated.
  --pull               Has a short-lived pod pull the first image; its namespace must exist.
  --pull-secret <name> The Secret with which it pulls.
  --egress <URL,URL,…> Addresses that the platform has to reach, such as those of models.
  --kubeconfig <file>  [KUBECONFIG, or ~/.kube/config; in a pod its service account]
  --context <name>     [the current one]
  --namespace <name>   Of the installation, also -n. [platform]
  Databases: DATABASE_URL, or DB_HOST and the like, and COLLECTOR_DATABASE_URL win over the values.
  Registry: REGISTRY_USERNAME and REGISTRY_PASSWORD, or the login of docker or podman.

  --plan <load>        Prints the values of the chart for a load, as YAML with the reasons: rates of
                       spans and runs, how long they are kept, how long a run takes (30 s/run).
  --from-now           Takes from the growth of the last 28 days what --plan leaves out, as it will
                       be in 90 days, and says on which day disk, limits, queue and keys end. With
                       --url also the certificate there.
  Both read --values and the databases above, where they are given.

  --only <name,…>      Judges by these checks only, such as database,auth.
  --skip <name,…>      Leaves these checks out.
  --wait[=<seconds>]   Asks until the report is ok, or the time is over. [300]
  --diff <file>        Says what changed since the last good report, which the file keeps.
  --timeout <seconds>  How long to wait for a report, or for a check. [15; with --pull 300]
  --json               Prints the reports as JSON; docs/doctor-report.schema.json has the schema.
  --help

Exit code: 0 ok, 1 degraded, 2 fail, 3 unreachable or not found, 64 wrong use. With several pods,
the worst.
`

/** What both ways of diagnosis have in common. */
interface ReportOptions extends Selection {
  readonly timeoutMs: number
  readonly json: boolean
  /** Undefined asks once. */
  readonly waitMs: number | undefined
  /** The file of the last good report, to compare with. */
  readonly diff: string | undefined
}

/** Asks a platform. */
export interface AskCommand extends ReportOptions, AskOptions {
  readonly kind: 'ask'
  readonly urls: readonly string[]
  /** True if the addresses are pods of one platform. */
  readonly pods: boolean
}

/** Checks what an installation needs. */
export interface PreflightCommand extends ReportOptions, ClusterOptions {
  readonly kind: 'pre'
  readonly values: readonly string[]
  readonly images: readonly string[]
  readonly egress: readonly string[]
  readonly isPulling: boolean
  readonly pullSecret: string | undefined
}

/** Plans the values for a load. */
export interface PlanCommand {
  readonly kind: 'plan'
  /** Undefined takes all of it from the growth. */
  readonly plan: string | undefined
  readonly isFromNow: boolean
  readonly values: readonly string[]
  /** Whose certificate is read. */
  readonly url: string | undefined
  readonly json: boolean
}

/** The command line. */
export type Command = AskCommand | PreflightCommand | PlanCommand

const OPTIONS = {
  url: { type: 'string' },
  pods: { type: 'string' },
  token: { type: 'string' },
  pre: { type: 'boolean' },
  values: { type: 'string', multiple: true },
  image: { type: 'string', multiple: true },
  pull: { type: 'boolean' },
  'pull-secret': { type: 'string' },
  egress: { type: 'string' },
  plan: { type: 'string' },
  'from-now': { type: 'boolean' },
  ...CLUSTER_OPTIONS,
  only: { type: 'string' },
  skip: { type: 'string' },
  wait: { type: 'string' },
  diff: { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Reads the command line; undefined asks for help. Raises `invalid_request`. */
export function readOptions(args: readonly string[], env: EnvSource): Command | undefined {
  const given = parse(args)
  if (given.help) return undefined
  if (given.plan !== undefined || given['from-now']) return readPlan(given)
  const pre = ['values', 'image', 'pull', 'pull-secret', 'egress'] as const
  const ask = ['url', 'pods', 'token'] as const
  const stray = (given.pre ? ask : pre).find((name) => given[name] !== undefined)
  if (stray !== undefined) {
    throw wrong(
      given.pre ? `--${stray} asks a platform: leave --pre out.` : `--${stray} needs --pre.`,
    )
  }
  return given.pre ? readPreflight(given) : readAsk(given, env)
}

type Given = ReturnType<typeof parse>

function parse(args: readonly string[]) {
  const filled = args.map((arg) => (arg === '--wait' ? `--wait=${WAIT_SECONDS}` : arg))
  return parseOptions(filled, OPTIONS)
}

function readCommon(given: Given, timeoutSeconds: number): ReportOptions {
  const { timeout = String(timeoutSeconds), wait } = given
  return {
    timeoutMs: readSeconds('timeout', timeout, 600) * 1000,
    json: given.json ?? false,
    only: readList(given.only),
    skip: readList(given.skip),
    waitMs: wait === undefined ? undefined : readSeconds('wait', wait, 86_400) * 1000,
    diff: given.diff,
  }
}

function readPreflight(given: Given): PreflightCommand {
  const { values = [], image: images = [], pull: isPulling = false } = given
  return {
    kind: 'pre',
    ...readCommon(given, isPulling ? PULL_TIMEOUT_SECONDS : TIMEOUT_SECONDS),
    values,
    images,
    egress: readList(given.egress).map(readUrl),
    isPulling,
    pullSecret: given['pull-secret'],
    kubeconfig: given.kubeconfig,
    context: given.context,
    namespace: given.namespace,
  }
}

function readPlan(given: Given): PlanCommand {
  const { plan, 'from-now': isFromNow = false, values = [], url, json = false } = given
  const known = ['plan', 'from-now', 'values', 'json', ...(isFromNow ? ['url'] : [])]
  const stray = Object.keys(given).find((name) => !known.includes(name))
  if (stray !== undefined) {
    const option = isFromNow ? '--from-now' : '--plan'
    throw wrong(`--${stray} does not go with ${option}. Allowed: --${known.join(', --')}.`)
  }
  return { kind: 'plan', plan, isFromNow, values, url: url && readUrl(url), json }
}

function readAsk(given: Given, env: EnvSource): AskCommand {
  const token = readToken(given.token, env)
  const pods = readList(given.pods)
  if (pods.length > 0 && given.diff !== undefined) {
    throw wrong('--diff compares one report: pass --url instead of --pods.')
  }
  const urls = pods.length > 0 ? pods : [given.url ?? ownAddress(env)]
  return {
    kind: 'ask',
    ...readCommon(given, TIMEOUT_SECONDS),
    urls: urls.map(readUrl),
    pods: pods.length > 0,
    token,
  }
}

/** The address of the pod that this program runs in; empty outside of a pod of web. */
const ownAddress = ({ POD_NAME, PORT }: EnvSource): string =>
  POD_NAME && PORT ? `http://127.0.0.1:${PORT}` : ''
