import { randomBytes, scryptSync } from 'node:crypto'
import { createApp } from '../../../../services/web/app.ts'
import type { WebOptions } from '../../../../services/web/context.ts'
import { webEnv } from '../../../../services/web/env.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { createSession, findSession } from '../../../../services/platform/people/sessions.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { ensureUser } from '../../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { createDatabase, POOL_SIZE } from '../../../support/postgres.ts'
import { checkAnswers } from './described-answers.ts'

export const BASE_URL = 'http://platform.test'
export const SECRET = 'a-secret-key-base-of-at-least-32-characters'
/** What hashing a password costs here: with what OWASP asks for, half a second of a core. */
const CHEAP = { N: 1024, r: 8, p: 1 }

export interface SignedInUser {
  readonly cookie: string
  readonly csrfToken: string
  readonly token: string
}

export interface Tenant {
  readonly organizationId: number
  readonly userId: number
  readonly email: string
  readonly research: Automation
  readonly digest: Automation
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** The environment of a web service on this database. */
export const environment = (databaseUrl: string, baseUrl = BASE_URL) => ({
  DATABASE_URL: databaseUrl,
  PORT: '0',
  HOST: '127.0.0.1',
  PLATFORM_VERSION: '1.13.0',
  PLATFORM_BASE_URL: baseUrl,
  SECRET_KEY_BASE: SECRET,
})

/** A database with two organizations that have the same automations, and the app over it. */
export async function openPlatform(passwordHash: string | null = null) {
  const database = await createDatabase('platform')
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: POOL_SIZE })
  const acme = await createTenant(sql, 'acme', passwordHash)
  const rival = await createTenant(sql, 'rival', passwordHash)
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog({ name: 'web', destination })
  const appAt = (
    baseUrl: string,
    extra: Record<string, string> = {},
    others: Pick<WebOptions, 'spans' | 'traces' | 'traceTokens'> = {},
  ) => {
    const config = readEnv(webEnv, { ...environment(database.url, baseUrl), ...extra })
    const service = { config, sql, log, ping: async () => {}, isDraining: () => false }
    return checkAnswers(createApp({ ...others, ...service, passwordCost: CHEAP }), config)
  }
  let app: ReturnType<typeof appAt> | undefined
  return {
    url: database.url,
    sql,
    acme,
    rival,
    /** Made when it is first asked for: registering all routes takes longer than the rest. */
    get app() {
      return (app ??= appAt(BASE_URL))
    },
    appAt,
    /** The log, line by line. */
    lines,
    /** The entries of the audit, the oldest first. */
    audit: () => sql`select * from audit_entries order by id`,
    signIn: (tenant: Tenant) => openSession(sql, tenant.userId),
    issueToken: (tenant: Tenant, deploymentId: number | null = null) =>
      issueStaticToken(sql, {
        organizationId: tenant.organizationId,
        deploymentId,
        name: 'test',
        createdBy: tenant.userId,
      }),
    async close() {
      await sql.end()
      await database.drop()
    },
  }
}

/**
 * A platform with other members. A spread would ask for its app, and so make one that no test has
 * a use for.
 */
export function withMembers<Base extends object, More extends object>(
  base: Base,
  more: More,
): Omit<Base, keyof More> & More {
  const members = { ...Object.getOwnPropertyDescriptors(base) }
  Object.assign(members, Object.getOwnPropertyDescriptors(more))
  // Which the compiler does not see of descriptors.
  return Object.defineProperties({}, members) as Omit<Base, keyof More> & More
}

async function openSession(sql: Database, userId: number): Promise<SignedInUser> {
  const token = await createSession(sql, userId)
  const session = await findSession(sql, token)
  if (!session) throw new Error('no session')
  return { token, cookie: `platform_session=${token}`, csrfToken: session.csrfToken }
}

async function createTenant(
  sql: Database,
  name: string,
  passwordHash: string | null,
): Promise<Tenant> {
  const { id: organizationId } = await ensureOrganization(sql, { name })
  const email = `ada@${name}.test`
  const person = { organizationId, role: 'admin', email, name: 'Ada Park', passwordHash } as const
  const userId = await ensureUser(sql, person)
  const deploy = (slug: string, crew?: CrewDefinition): Promise<Automation> =>
    deployAutomation(sql, organizationId, {
      slug: `${name}-${slug}`,
      name: `${name} ${slug}`,
      project: slug,
      ...(crew && { crew }),
    })
  const research = await deploy('research')
  const digest = await deploy('digest', withoutInputs)
  return { organizationId, userId, email, research, digest }
}

const withoutInputs: CrewDefinition = {
  name: 'Digest',
  llm: { model: 'test-model' },
  agents: [{ key: 'editor', role: 'Editor', goal: 'Write a digest' }],
  tasks: [
    { key: 'digest', description: 'Digest the news.', expected_output: 'A list', agent: 'editor' },
  ],
}

/** The JSON object that a response holds. */
export async function readObject(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null) throw new Error('not an object')
  return { ...body }
}

/**
 * A password hash like those of `hashPassword`, but made in no time: a hash carries its own cost.
 */
export function cheapHash(password: string): string {
  const salt = randomBytes(16)
  const parts = [salt, scryptSync(password, salt, 32, CHEAP)]
  const texts = parts.map((part) => part.toString('base64url'))
  return ['scrypt', ...Object.values(CHEAP), ...texts].join('$')
}
