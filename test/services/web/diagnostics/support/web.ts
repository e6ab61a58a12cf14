import type { HttpBindings } from '@hono/node-server'
import { createApp } from '../../../../../services/web/app.ts'
import { createDiagnostics } from '../../../../../services/web/diagnostics/create-diagnostics.ts'
import { ensureOrganization } from '../../../../../services/platform/people/organizations.ts'
import { ensurePublicToolRepository } from '../../../../../services/platform/tools/tools.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../../services/shared/postgres/database.ts'
import { readEnv } from '../../../../../services/shared/env.ts'
import type { EnvSource } from '../../../../../services/shared/env.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { serve } from '../../../../../services/shared/http/serve.ts'
import type { DiagnosticsDeps } from '../../../../../services/web/diagnostics/deps.ts'
import { CHECKS } from '../../../../../services/web/diagnostics/checks/list.ts'
import type { ComponentName } from '../../../../../services/web/diagnostics/checks/list.ts'
import type { ComponentResult } from '../../../../../services/web/diagnostics/finding.ts'
import type { Report } from '../../../../../services/web/diagnostics/report.ts'
import { webEnv } from '../../../../../services/web/env.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { environment } from '../../support/platform.ts'

/** A result as callers read it, with details of any shape. */
export type ReadResult = ComponentResult<Readonly<Record<string, unknown>>>
type ReadReport = Omit<Report, 'components'> & {
  readonly components: Readonly<Record<ComponentName, ReadResult>>
}

export const TOKEN = 'debug-token-of-more-than-thirty-two-characters'

export const webEnvironment = (databaseUrl: string, extra: EnvSource = {}) => ({
  ...environment(databaseUrl),
  PLATFORM_SELF_HOSTED: 'true',
  PLATFORM_PROVIDER: 'kubernetes',
  PLATFORM_DEBUG_TOKEN: TOKEN,
  POD_NAME: 'web-1',
  ...extra,
})

export interface WebOptions {
  readonly databaseUrl: string
  readonly env?: EnvSource
  readonly diagnostics?: DiagnosticsDeps
}

/** An app with the diagnostic endpoint, its pool and its log. */
export function openWeb({ databaseUrl, env = {}, diagnostics = {} }: WebOptions) {
  const config = readEnv(webEnv, webEnvironment(databaseUrl, env))
  const sql = connectDatabase(parseAddress(databaseUrl), { name: 'test', max: 2 })
  const lines: string[] = []
  const log = createLog({ name: 'web', destination: { write: (line) => void lines.push(line) } })
  const app = createApp({
    config,
    sql,
    log,
    ping: async () => {},
    isDraining: () => false,
    diagnostics: { env, ...diagnostics },
  })
  return { app, sql, log, lines, close: () => sql.end({ timeout: 1 }) }
}

export type Web = Awaited<ReturnType<typeof serveWeb>>

/** The same behind a real socket. */
export async function serveWeb({ port = 0, ...options }: WebOptions & { port?: number }) {
  const web = openWeb(options)
  const service = await serve({
    // The bindings are what @hono/node-server passes.
    fetch: (request, env) => web.app.fetch(request, env as HttpBindings),
    port,
    host: '127.0.0.1',
    log: web.log,
  })
  return {
    ...web,
    url: service.url,
    /** Asks for the report with the token. */
    report: async () => {
      const headers = { 'x-platform-debug-token': TOKEN }
      const response = await fetch(`${service.url}/health/debug`, { headers })
      return { http: response.status, report: (await response.json()) as ReadReport }
    },
    async close() {
      await service.stop()
      await web.close()
    },
  }
}

/**
 * Makes the report of a web with these variables. The endpoint is left out, and what is mounted is
 * read from one app: to build one takes as long as all checks together.
 */
export async function reportOf({ databaseUrl, env = {}, diagnostics }: WebOptions) {
  mounted ??= openWeb({ databaseUrl }).app
  const { diagnoses } = createDiagnostics(
    {
      config: readEnv(webEnv, webEnvironment(databaseUrl, env)),
      log: createLog({ name: 'web', level: 'silent' }),
      diagnostics: { env, ...diagnostics },
    },
    mounted,
  )
  const { report } = await diagnoses.start().done
  return JSON.parse(JSON.stringify(report)) as ReadReport
}

/** Opens no connection, since it is asked for nothing. */
let mounted: ReturnType<typeof openWeb>['app'] | undefined

/** The result of one check; the others, and their connections, take ten times as long. */
export async function resultOf(
  name: ComponentName,
  { diagnostics, ...options }: WebOptions,
): Promise<ReadResult> {
  const checks = { ...NO_CHECKS, [name]: CHECKS[name] }
  return (await reportOf({ ...options, diagnostics: { ...diagnostics, checks } })).components[name]
}

const skip = async () => ({ status: 'skipped' }) as const
// The names are those of all checks, which the compiler does not follow.
const NO_CHECKS = Object.fromEntries(
  Object.entries(CHECKS).map(([name, check]) => [name, { ...check, run: skip }]),
) as unknown as typeof CHECKS

export function codeOf({ details }: ComponentResult): string | undefined {
  const code = details?.['code']
  return typeof code === 'string' ? code : undefined
}

export const warningsOf = ({ details }: ComponentResult): unknown => details?.['warnings']

/** What `designer:*` and `tools:*` tasks leave behind. */
export async function install(sql: Database): Promise<number> {
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Platform', internal: true })
  await ensurePublicToolRepository(sql, 'public')
  for (const slug of ['assistant', 'runner']) await deployAutomation(sql, organizationId, { slug })
  return organizationId
}
