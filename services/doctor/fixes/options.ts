import { didYouMean } from '../../shared/closest.ts'
import type { EnvSource } from '../../shared/env.ts'
import { FIXABLE_CODES } from '../../shared/fixable-codes.ts'
import type { FixableCode } from '../../shared/fixable-codes.ts'
import type { AskOptions } from '../ask.ts'
import { CLUSTER_OPTIONS } from '../kubernetes/cluster.ts'
import type { ClusterOptions } from '../kubernetes/cluster.ts'
import { parseOptions, readList, readSeconds, readToken, readUrl, wrong } from '../option-values.ts'
import type { FixContext } from './fix.ts'

const NAME = 'platform'

/** The help text. */
export const FIX_USAGE = `Usage: npm run doctor -- --fix --url <base URL> [options]

Asks a platform for its report, and fixes what has a command for it: shows each change and the right
that it takes, asks, makes it with your own kubeconfig or database login, and asks for the report
again. What did not help is taken back. Of a report it uses the codes alone.

  --url <URL>          Where the platform is, such as https://platform.example.com.
  --only <CODE,…>      Fixes these codes only, also where the platform gives no report.
  --dry-run            Shows the changes, and makes none.
  --yes                Does not ask. Needed where there is no terminal.
  --wait <seconds>     How long a fix may take to help. [300]
  --timeout <seconds>  How long to wait for a report. [15]
  --json               Prints codes, states and changes as JSON.
  --kubeconfig <file>, --context <name>, --namespace <name>  As with --pre.
  --release <name>     [${NAME}]
  --fullname <name>    How names of objects begin, where nameOverride or the like is set. [release]
  --crews <namespace>  Where the platform's own crews run. [<namespace>-crews]
  --db-role <name>     The database user of the platform. [${NAME}]
  Token: PLATFORM_DEBUG_TOKEN, or --token. Databases: DATABASE_URL, or DB_HOST and the like, and
  COLLECTOR_DATABASE_URL, with the login of the owner.

Codes: ${FIXABLE_CODES.join(', ').replaceAll(/(.{50,80},) /g, '$1\n  ')}.
Each ends as planned, not_applied, failed, unverified or verified.

Exit code: 0 verified, or nothing to fix; 1 planned or not applied; 2 failed or unverified; 3 no
report; 64 wrong use. The worst one counts.
`

/** Fixes what a report has. */
export interface FixCommand
  extends ClusterOptions, AskOptions, Omit<FixContext, 'cluster' | 'database'> {
  readonly url: string
  /** Empty takes all that the report has. */
  readonly only: readonly FixableCode[]
  readonly isDryRun: boolean
  readonly isConfirmed: boolean
  readonly waitMs: number
  readonly json: boolean
}

/** Reads the command line of `--fix`; undefined asks for help. Raises `invalid_request`. */
export function readFixOptions(args: readonly string[], env: EnvSource): FixCommand | undefined {
  const given = parse(args)
  if (given.help) return undefined
  if (env['KUBERNETES_SERVICE_HOST']) {
    throw wrong(
      '--fix has your own rights, never those of a pod: run it outside of the cluster. ' +
        '`kubectl exec deployment/platform-web -- cat build/doctor.mjs > doctor.mjs` copies it.',
    )
  }
  const { namespace, release, fullname = release, crews = `${namespace}-crews` } = given
  const { url = '', token, kubeconfig, context, only, json } = given
  return {
    url: readUrl(url),
    token: readToken(token, env),
    timeoutMs: readSeconds('timeout', given.timeout, 600) * 1000,
    waitMs: readSeconds('wait', given.wait, 86_400) * 1000,
    only: readList(only).map(readCode),
    isDryRun: given['dry-run'],
    isConfirmed: given.yes,
    json,
    kubeconfig,
    context,
    namespace,
    release,
    fullName: fullname,
    crewNamespace: crews,
    role: given['db-role'],
  }
}

function readCode(word: string): FixableCode {
  const code = FIXABLE_CODES.find((each) => each === word)
  if (code) return code
  const hint = didYouMean(word, FIXABLE_CODES)
  throw wrong(`There is no fix for "${word}".${hint} There are: ${FIXABLE_CODES.join(', ')}.`)
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const name = { type: 'string', default: NAME } as const
  const own = { fix: flag, 'dry-run': flag, yes: flag, json: flag, help: { ...flag, short: 'h' } }
  const asking = { url: text, token: text, only: text, fullname: text, crews: text }
  const names = { namespace: { ...name, short: 'n' }, release: name, 'db-role': name }
  const times = { wait: { ...text, default: '300' }, timeout: { ...text, default: '15' } }
  return parseOptions(args, { ...CLUSTER_OPTIONS, ...own, ...asking, ...names, ...times })
}
