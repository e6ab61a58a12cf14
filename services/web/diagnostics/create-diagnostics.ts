import { hostname } from 'node:os'
import type { Hono } from 'hono'
import { readerOf } from '../../platform/connections/llm-usage.ts'
import type { EnvSource } from '../../shared/env.ts'
import type { Log } from '../../shared/log.ts'
import { databaseAddress } from '../../shared/postgres/address.ts'
import { openDisposable } from '../../shared/postgres/disposable-database.ts'
import type { WebApp, WebDeps } from '../context.ts'
import type { WebConfig } from '../env.ts'
import type { Surroundings } from './check.ts'
import { CHECKS, COMPONENT_NAMES } from './checks/list.ts'
import { createNaming } from './cluster-commands.ts'
import { createDiagnoses } from './diagnoses.ts'
import type { Diagnoses, Diagnosis } from './diagnoses.ts'
import { routesOf } from './mounted-routes.ts'
import { createRedaction } from '../../shared/redact.ts'
import { LIMITS } from './run-checks.ts'
import type { BoundCheck, BoundChecks } from './run-checks.ts'

/**
 * The most transactions of one diagnosis at a time: two of the designer and one of three other
 * checks. None waits.
 */
const CONNECTIONS_MAX = 5

/** The diagnoses of this pod, with its name. */
export interface Diagnostics {
  readonly diagnoses: Diagnoses
  readonly pod: string
}

/** Creates the diagnoses of this pod, which the endpoint and the admin page share. */
export function createDiagnostics(
  { config, log, diagnostics = {} }: Pick<WebDeps, 'config' | 'log' | 'diagnostics'>,
  app: Hono<WebApp>,
): Diagnostics {
  const { env = {}, kubernetes, limits = LIMITS, providerUrls = {}, schemaVersion } = diagnostics
  const { checks = CHECKS } = diagnostics
  const pod = config.POD_NAME ?? hostname()
  const address = databaseAddress(config)
  const name = createNaming(config)
  const redact = createRedaction({ ...env, DB_PASSWORD: address.password, ...secretsOf(config) })
  const readVariable = readerOf(env)
  const isMounted = routesOf(app)
  const diagnoses = createDiagnoses({
    checks: bindChecks(checks, {
      config,
      pod,
      readVariable,
      providerUrls,
      kubernetes,
      isMounted,
      schemaVersion,
    }),
    limits,
    environment: {
      platform: true,
      auth_provider: config.AUTH_PROVIDER,
      version: config.PLATFORM_VERSION,
    },
    openDatabase: () =>
      openDisposable(address, {
        name: 'web-probe',
        max: CONNECTIONS_MAX,
        connectTimeoutMs: limits.checkMs,
        statementTimeoutMs: limits.checkMs,
      }),
    present: (value) => redact(name(value)),
    onDiagnosis(diagnosis) {
      logDiagnosis(log, diagnosis)
      diagnostics.onDiagnosis?.(diagnosis)
    },
  })
  return { diagnoses, pod }
}

function bindChecks(checks: typeof CHECKS, surroundings: Surroundings): BoundChecks {
  const bound = COMPONENT_NAMES.map((name): [string, BoundCheck] => {
    const check = checks[name]
    return [name, { timeout: check.timeout, run: (context) => check.run(context, surroundings) }]
  })
  // The keys are all component names: the line above walks over them.
  return Object.fromEntries(bound) as BoundChecks
}

/** Logs the codes only: the texts of errors are for those who may see the report. */
function logDiagnosis(log: Log, { id, report }: Diagnosis): void {
  const failures = COMPONENT_NAMES.flatMap((name) => {
    const { status, details } = report.components[name]
    return status === 'fail' ? [`${name}: ${details?.code}`] : []
  })
  const { status: verdict, duration_ms } = report
  log[verdict === 'ok' ? 'info' : 'warn']({ run: id, verdict, duration_ms, failures }, 'diagnosis')
}

const secretsOf = (config: WebConfig): EnvSource => ({
  PLATFORM_DEBUG_TOKEN: config.PLATFORM_DEBUG_TOKEN,
  SECRET_KEY_BASE: config.SECRET_KEY_BASE,
  PLATFORM_OAUTH_API_KEY: config.PLATFORM_OAUTH_API_KEY,
  COLLECTOR_JWT_SECRET: config.COLLECTOR_JWT_SECRET,
})
