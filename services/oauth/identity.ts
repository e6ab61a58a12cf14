import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { PLATFORM, writeAudit } from '../platform/audit/audit.ts'
import { createSigningKeys } from '../platform/connections/make-signing-keys.ts'
import type { SigningKeys, SigningKeysOptions } from '../platform/connections/make-signing-keys.ts'
import { findRunningRun, recordIdentityToken } from '../platform/connections/identity-tokens.ts'
import type { RunIdentity } from '../platform/connections/identity-tokens.ts'
import type { TokenHolder } from '../platform/connections/oauth-tokens.ts'
import { AppError } from '../shared/errors.ts'
import { inTransaction } from '../shared/postgres/database.ts'
import type { AccessToken } from './access-token.ts'
import { connectionEntry } from './connection-entry.ts'

/** The algorithm that each receiver of ID tokens takes (OpenID Connect Core §15.1). */
export const ALGORITHM = 'RS256'
const KEYS = {
  table: 'identity_keys',
  label: 'crew-platform identity key',
  algorithm: ALGORITHM,
} as const
const TOKEN_SECONDS = 600

/** Signs who the runs of the platform are. */
export interface Identity {
  /** The address of this service, at which receivers read the keys. */
  readonly issuer: string
  readonly keys: Pick<SigningKeys, 'published'>
  /**
   * Returns the identity of a run for the audience of a connection; without a run that of the
   * organization, to look at tools and to test. Raises `conflict` once the run has ended.
   */
  readonly tokenOf: (holder: IdentityHolder, runId?: string) => Promise<AccessToken>
}

/** Creates the issuer of identities. */
export function createIdentity(options: SigningKeysOptions & Pick<Identity, 'issuer'>): Identity {
  const { sql, issuer } = options
  const keys = createSigningKeys(options, KEYS)

  async function createSigner(audience: string) {
    const { kid, key } = await keys.forSigning()
    return async (subject: string, claims: Readonly<Record<string, string>> = {}) => {
      const [id, now] = [randomUUID(), Math.floor(Date.now() / 1000)]
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setJti(id)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + TOKEN_SECONDS)
        .sign(key)
      return { id, token, expiresAt: new Date((now + TOKEN_SECONDS) * 1000) }
    }
  }

  return {
    issuer,
    keys,
    async tokenOf(holder, runId) {
      const { organizationId, name, settings, hosts } = holder
      const { audience = '', header = 'authorization', prefix = 'Bearer' } = settings ?? {}
      const organization = `organization:${organizationId}`
      const sign = await createSigner(audience)
      const signed = await inTransaction(sql, async (tx) => {
        if (runId === undefined) return sign(organization)
        const run = await findRunningRun(tx, { runId, organizationId })
        if (!run) throw ended()
        const made = await sign(subjectOf(organization, run), claimsOf(run))
        const { id, expiresAt } = made
        await recordIdentityToken(tx, runId, { id, connection: name, audience, expiresAt })
        await writeAudit(tx, PLATFORM, {
          ...connectionEntry('connection_identity_issued', holder),
          after: { kickoff_id: runId, audience, expires_at: expiresAt },
        })
        return made
      })
      const { token: accessToken, expiresAt } = signed
      return { accessToken, tokenType: 'Bearer', scope: null, expiresAt, header, prefix, hosts }
    },
  }
}

/** A connection of the kind `identity`. */
type IdentityHolder = Pick<TokenHolder, 'id' | 'organizationId' | 'settings' | 'hosts'> & {
  readonly name: string
}

const subjectOf = (organization: string, { automationId, version, runId }: RunIdentity): string =>
  `${organization}:automation:${automationId}:version:${version}:run:${runId}`

const claimsOf = ({ organizationId, automationId, slug, version, runId }: RunIdentity) => ({
  organization_id: String(organizationId),
  automation_id: automationId,
  automation: slug,
  version: String(version),
  kickoff_id: runId,
})

const ended = (): AppError =>
  new AppError('conflict', 'Only a run that is in progress has an identity.', {
    details: { code: 'run_not_running' },
  })
