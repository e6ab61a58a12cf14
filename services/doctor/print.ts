import * as v from 'valibot'
import { describeChange } from './changes.ts'
import type { KeyComparison } from './compare-keys.ts'
import type { Difference } from './last-good.ts'
import type { Answer, DoctorComponent, DoctorReport } from './report.ts'

/** The page with a section for each code. */
const CODES_PAGE = 'docs/failure-codes.md'

const WIDTHS = { status: 9, name: 20, latency: 9 }
const INDENT = ' '.repeat(2 + WIDTHS.status + WIDTHS.name + WIDTHS.latency)

/** Prints the answers as a table for people. */
export function printAnswers(answers: readonly Answer[], keys: KeyComparison | undefined): string {
  const blocks = answers.map((answer) =>
    answer.report
      ? printReport(answer.url, answer.report)
      : `${plain(answer.url)}\n  ${plain(answer.problem)}\n`,
  )
  return [...blocks, ...(keys ? [printKeys(keys)] : [])].join('\n')
}

function printReport(url: string, { status, duration_ms, environment, components }: DoctorReport) {
  const facts = [
    `version ${plain(environment.version)}`,
    `sign-in ${plain(environment.auth_provider)}`,
    `${duration_ms} ms`,
  ]
  const lines = Object.entries(components).flatMap(([name, component]) =>
    printComponent(name, component),
  )
  const head = `${plain(url)}: ${status.toUpperCase()} (${facts.join(', ')})`
  return `${head}\n\n${lines.join('\n')}\n`
}

function printComponent(name: string, component: DoctorComponent): string[] {
  const { status, latency_ms: ms, error, checks = [], details = {} } = component
  const latency = ms === undefined ? '' : `${ms} ms`
  const head = [
    status.padEnd(WIDTHS.status),
    plain(name).padEnd(WIDTHS.name),
    latency.padStart(WIDTHS.latency - 2),
  ].join('')
  const text = plain(error ?? (checks.length > 0 ? checks.join(', ') : remarkOf(component)))
  return [
    `  ${head}  ${text}`.trimEnd(),
    ...printRemedy(details),
    ...warningsOf(details).flatMap((warning) => [
      `${INDENT}! ${plain(warning.message)}`,
      ...printRemedy(warning),
    ]),
  ]
}

/** The remedy of a failure or a warning, and where more is said about it. */
function printRemedy({ code, remediation }: Readonly<Record<string, unknown>>): string[] {
  if (typeof remediation !== 'string') return []
  const page = typeof code === 'string' ? [`${INDENT}  ${CODES_PAGE}#${plain(code)}`] : []
  return [`${INDENT}→ ${plain(remediation)}`, ...page]
}

const warning = v.object({ code: v.string(), message: v.string(), remediation: v.string() })
const warned = v.object({ warnings: v.array(warning) })

/** Reads the warnings of a component. */
export function warningsOf(
  details: Record<string, unknown>,
): readonly v.InferOutput<typeof warning>[] {
  const parsed = v.safeParse(warned, details)
  return parsed.success ? parsed.output.warnings : []
}

/** Returns a remark on a component that lists nothing that passed, such as its host. */
function remarkOf({ status, details = {}, provider }: DoctorComponent): string {
  const { host, reason } = details
  if (status === 'skipped') return typeof reason === 'string' ? reason : 'not configured'
  return typeof host === 'string' ? host : (provider ?? '')
}

function printKeys({ same, keys }: KeyComparison): string {
  const width = Math.max(...keys.map(({ pod }) => pod.length))
  const rows = keys.map(
    ({ pod, fingerprint }) => `  ${plain(pod).padEnd(width)}  ${plain(fingerprint ?? 'no key')}`,
  )
  const verdict = same
    ? 'All pods have the same PLATFORM_OAUTH_API_KEY.'
    : 'The pods have different values of PLATFORM_OAUTH_API_KEY. Correct the Secret and ' +
      'restart those that differ.'
  return `${verdict}\n\n${rows.join('\n')}\n`
}

/** Prints what changed since the last good report. */
export function printDifference({ since, changes, isComplete, isKept }: Difference): string {
  const kept = isKept ? 'This report is the last good one from now on.' : ''
  const head =
    since === undefined
      ? 'There is no good report yet to compare with.'
      : `Since the last good report (${plain(since)}):`
  const lines = changes.map((change) => `  ${plain(describeChange(change))}`)
  const none = since !== undefined && changes.length === 0 ? ['  nothing changed'] : []
  const more = isComplete ? [] : ['  …']
  return `\n${[head, ...lines, ...none, ...more, ...(kept ? [kept] : [])].join('\n')}\n`
}

/** Takes out what a terminal obeys: names and errors come from elsewhere. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
}
