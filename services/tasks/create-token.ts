import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import { getOrganizationByName } from '../platform/people/organizations.ts'
import { createStaticToken } from '../platform/automations/static-tokens.ts'
import { TOKEN_SCOPES, UNLIMITED } from '../platform/automations/token-limits.ts'
import type { TokenLimits } from '../platform/automations/token-limits.ts'
import type { Database, Transaction } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'

const USE =
  'Use: tokens:create ORGANIZATION NAME [SCOPES [DAYS]]. SCOPES are some of ' +
  `${TOKEN_SCOPES.join()}; DAYS is from 1 to 3650. Without them the token may do everything, for ` +
  'ever.'
const DAY_MS = 86_400_000

interface TokenRequest {
  readonly organization?: string | undefined
  readonly name?: string | undefined
  /** With commas between them. @default all */
  readonly scopes?: string | undefined
  /** @default it never ends */
  readonly days?: string | undefined
}

/**
 * Issues a token that is good for a whole organization, such as to upload tools or to call the
 * designer. Returns the token, which is stored as a hash only. Raises `invalid_request` and, for an
 * organization that is not there, `not_found`.
 */
export async function createOrganizationToken(
  sql: Database,
  { organization = '', name = '', ...asked }: TokenRequest,
): Promise<string> {
  if (!/^[^\p{Cc}]{1,100}$/u.test(name)) {
    throw new AppError(
      'invalid_request',
      `Name the token after what will use it, in at most 100 characters. ${USE}`,
    )
  }
  const limits = readLimits(asked)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  return sql.begin((tx) => issueRecorded(tx, { ...limits, organizationId, name }))
}

/** Issues a token of a whole organization, and records it in the audit. */
export async function issueRecorded(
  tx: Transaction,
  token: TokenLimits & { readonly organizationId: number; readonly name: string },
): Promise<string> {
  const { organizationId, name, scopes, expiresAt } = token
  const issued = { ...token, deploymentId: null, createdBy: null }
  const { id, secret } = await createStaticToken(tx, issued)
  const target = { kind: 'static_token', id, name: `${name} (pat_…${secret.slice(-4)})` }
  const after = { automation: null, scopes, expires_at: expiresAt?.toISOString() ?? null }
  const entry = { action: 'static_token_created', organizationId, target, after }
  await writeAudit(tx, OPERATOR, entry)
  return secret
}

function readLimits({ scopes: words, days }: Pick<TokenRequest, 'scopes' | 'days'>): TokenLimits {
  const scopes =
    words?.split(',').map((word) => TOKEN_SCOPES.find((each) => each === word)) ?? TOKEN_SCOPES
  if (!scopes.every((each) => each !== undefined)) {
    throw new AppError('invalid_request', `A scope of "${words}" is none. ${USE}`)
  }
  if (days !== undefined && (!/^[1-9]\d{0,3}$/.test(days) || Number(days) > 3650)) {
    throw new AppError('invalid_request', `"${days}" is no number of days. ${USE}`)
  }
  const expiresAt = days === undefined ? null : new Date(Date.now() + Number(days) * DAY_MS)
  return { ...UNLIMITED, scopes: [...new Set(scopes)], expiresAt }
}
