import { signCollectorToken } from '../../shared/collector-token.ts'
import type { CollectorScope } from '../../shared/collector-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readTarget, TARGET_OPTIONS } from './collector-client.ts'
import type { Target } from './collector-client.ts'
import { createCanary, findDifference } from './canary.ts'
import type { Command, Output } from './command.ts'
import { readArguments } from './options.ts'

const USAGE = `Usage: npm run --silent collector -- verify --url URL [options]
       node build/collector/main.js verify --url URL [options]

Writes a small trace to the collector over OTLP, reads it back, and compares. The secret comes from
the environment.

  --url URL           the collector, such as http://collector:8080
  --org NAME          write and read as this organization (default: the platform itself)
  --secret-env NAME   the variable that holds the secret (default: COLLECTOR_JWT_SECRET)
  --timeout-ms N      for each of the requests, 100 to 60000 (default: 10000)
  --json              print one line of JSON instead of text
  --help              print this

Exit code 0: what was written was read back. 1: it was not. 3: that could not be tried, as the
command line or the secret is wrong, or nothing answers at the URL.
`

type StepName = 'health' | 'write' | 'read'

interface Step {
  readonly step: StepName
  readonly ok: boolean
  readonly ms: number
  readonly message: string
}

interface Report {
  readonly ok: boolean
  readonly url: string
  readonly trace_id: string
  readonly steps: readonly Step[]
}

/**
 * `main.js verify`: exit code 0 when the trace was read back, 1 when it was not, 3 when that could
 * not be tried.
 */
export const verifyCommand: Command = async (args, source, output) => {
  const options = {
    ...TARGET_OPTIONS,
    json: { type: 'boolean', default: false },
  } as const
  const values = readArguments(args, options, USAGE)
  if (values.help) return output.out(USAGE)
  const report = await verify(
    readTarget(values, source, { issuer: 'verify', usage: USAGE, scopes: [] }),
  )
  if (values.json) output.out(`${JSON.stringify(report)}\n`)
  else print(report, output)
  return report.ok ? 0 : 1
}

/** Raises `unavailable` when there is no response at all. */
async function verify(target: Target): Promise<Report> {
  const canary = createCanary(Date.now())
  const health = await take('health', () => checkHealth(target))
  const write = await take('write', () => writeTrace(target, JSON.stringify(canary.request)))
  const steps = [health, write]
  if (write.ok) {
    steps.push(
      await take('read', async () => {
        const read = await readTrace(target, canary.traceId)
        const difference = findDifference(canary.request, read)
        if (difference) throw failed(`What was read is not what was sent: ${difference}.`)
        return 'equal to what was sent'
      }),
    )
  }
  const isVerified = steps.every(({ step, ok }) => ok || step === 'health')
  return { ok: isVerified, url: target.url, trace_id: canary.traceId, steps }
}

async function take(step: StepName, work: () => Promise<string>): Promise<Step> {
  const started = performance.now()
  const end = (ok: boolean, message: string): Step => {
    const ms = Math.round((performance.now() - started) * 10) / 10
    return { step, ok, ms, message }
  }
  try {
    return end(true, await work())
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unavailable') throw thrown
    return end(false, toError(thrown).message)
  }
}

const failed = (message: string): AppError => new AppError('bad_gateway', message)

async function checkHealth(target: Target): Promise<string> {
  const { status, text } = await request(target, '/health')
  if (status !== 200) throw failed(`/health answers ${status}: ${brief(text)}`)
  return brief(text)
}

async function writeTrace(target: Target, body: string): Promise<string> {
  const headers = { ...(await bearer(target, 'traces:write')), 'content-type': 'application/json' }
  const { status, text } = await request(target, '/v1/traces', { method: 'POST', headers, body })
  if (status !== 200) throw failed(`/v1/traces answers ${status}: ${brief(text)}`)
  if (text !== '{}') throw failed(`The collector did not take all spans: ${brief(text)}`)
  return 'committed'
}

async function readTrace(target: Target, traceId: string): Promise<unknown> {
  const path = `/api/traces/${traceId}`
  const headers = await bearer(target, 'traces:read')
  const { status, text } = await request(target, path, { headers })
  if (status !== 200) throw failed(`${path} answers ${status}: ${brief(text)}`)
  return JSON.parse(text)
}

async function bearer(
  { secret, issuer, organization }: Target,
  scope: CollectorScope,
): Promise<Record<string, string>> {
  const token = await signCollectorToken(secret, issuer, { organization, scopes: [scope] })
  return { authorization: `Bearer ${token}` }
}

async function request(
  { url, timeoutMs }: Target,
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; text: string }> {
  try {
    return await deadline({ name: `${url}${path}`, timeoutMs }, async (signal) => {
      const response = await fetch(url + path, { ...init, signal, redirect: 'error' })
      return { status: response.status, text: await response.text() }
    })
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    const { cause = thrown } = toError(thrown)
    throw new AppError('unavailable', `${url} cannot be reached: ${toError(cause).message}`)
  }
}

const BRIEF_MAX = 500
const brief = (text: string): string => text.trim().slice(0, BRIEF_MAX)

function print({ ok, url, trace_id, steps }: Report, { out }: Output): void {
  for (const { step, ok: isGood, ms, message } of steps) {
    out(`${isGood ? '✓' : '✗'} ${step.padEnd(7)}${`${ms} ms`.padStart(10)}  ${message}\n`)
  }
  out(
    ok
      ? `The collector at ${url} keeps what it acknowledges (trace ${trace_id}).\n`
      : `The collector at ${url} does not do what it should (trace ${trace_id}).\n`,
  )
}
