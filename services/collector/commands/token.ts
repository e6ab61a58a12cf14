import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import {
  COLLECTOR_SCOPES,
  MAX_REVOCABLE_SECONDS,
  signCollectorToken,
} from '../../shared/collector-token.ts'
import type { CollectorScope } from '../../shared/collector-token.ts'
import { oneOf } from '../../shared/schemas.ts'
import { AppError } from '../../shared/errors.ts'
import { isOrganizationName, MAX_ORGANIZATION_CHARS } from '../../shared/organization-name.ts'
import type { Command } from './command.ts'
import { readArguments, readSecret } from './options.ts'
import { listRevoked, revoke } from './revoke.ts'

const USAGE = `Usage: npm run --silent collector -- token [options]
       npm run --silent collector -- token revoke ID [--reason TEXT]
       npm run --silent collector -- token revoked
       node build/collector/main.js token …

Prints a token for the collector on standard output, and its id beside it on standard error. The
secret comes from the environment.

  --scope SCOPE       traces:write, traces:read, traces:delete, tokens:revoke or prices:write; more
                      than once for more (default: traces:write and traces:read)
  --org NAME          the organization whose spans it writes and reads; without it the token is the
                      platform's own, which reads those of all
  --ttl TIME          how long it is valid: 90s, 15m, 12h or 30d, 366d at the most (default: 1h)
  --days N            the same in days
  --issuer NAME       who it is for, as its "iss" (default: cli)
  --secret-env NAME   the variable that holds the secret (default: COLLECTOR_JWT_SECRET)
  --help              print this

revoke makes the collector refuse the token of that id within a minute, and revoked lists what was
revoked last. They need the variables of the collector's database: DATABASE_URL, or DB_HOST and its
companions.
`

/** To delete takes a word of its own. */
const USUAL_SCOPES: readonly CollectorScope[] = ['traces:write', 'traces:read']

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * `main.js token`: the token alone on standard output, so that it can be captured. With `revoke` or
 * `revoked` it ends tokens instead.
 */
export const tokenCommand: Command = async (args, source, output) => {
  const [verb, ...rest] = args
  if (verb === 'revoke') return revoke(rest, { source, output, usage: USAGE })
  if (verb === 'revoked') return listRevoked(rest, { source, output, usage: USAGE })
  const options = {
    scope: { type: 'string', multiple: true },
    org: { type: 'string' },
    ttl: { type: 'string', default: '1h' },
    days: { type: 'string' },
    issuer: { type: 'string', default: 'cli' },
    'secret-env': { type: 'string', default: 'COLLECTOR_JWT_SECRET' },
  } as const
  const values = readArguments(args, options, USAGE)
  if (values.help) return output.out(USAGE)
  const { days, ttl, scope, org, issuer } = values
  const id = randomUUID()
  const token = await signCollectorToken(readSecret(source, values['secret-env']), issuer, {
    scopes: scope?.flatMap(readScopes) ?? USUAL_SCOPES,
    organization: readOrganization(org),
    seconds: days === undefined ? readSeconds('--ttl', ttl) : readSeconds('--days', `${days}d`),
    id,
  })
  output.out(`${token}\n`)
  output.error(`id: ${id}\n`)
}

const invalid = (message: string): AppError => new AppError('invalid_configuration', message)

const scopes = v.array(oneOf(COLLECTOR_SCOPES))

/** The words of one `--scope`. */
function readScopes(given: string): CollectorScope[] {
  const result = v.safeParse(scopes, given.split(' '))
  if (result.success) return result.output
  throw invalid(`--scope must be ${COLLECTOR_SCOPES.join(' or ')} (given: ${quote(given)}).`)
}

function readOrganization(given: string | undefined): string | undefined {
  if (given === undefined || isOrganizationName(given)) return given
  throw invalid(
    `--org must have 1 to ${MAX_ORGANIZATION_CHARS} characters, none of which is a control ` +
      `character (given: ${quote(given)}).`,
  )
}

function readSeconds(option: string, time: string): number {
  const [, count = '', unit = ''] = /^(\d{1,8})([smhd])$/.exec(time) ?? []
  const seconds = Number(count) * (SECONDS[unit] ?? 0)
  if (seconds > 0 && seconds <= MAX_REVOCABLE_SECONDS) return seconds
  const allowed = option === '--ttl' ? 'a time such as 90s, 15m, 12h or 30d, and 366d' : '1 to 366'
  throw invalid(`${option} must be ${allowed} at the most (given: ${quote(time)}).`)
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 100))
