import { OPERATOR, writeAudit } from '../platform/audit.ts'
import { getOrganizationByName } from '../platform/organizations.ts'
import { createStaticToken } from '../platform/static-tokens.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'

/**
 * Issues a token that is good for a whole organization, such as to upload tools or to call the
 * designer. Returns the token, which is stored as a hash only. Raises `invalid_request` and, for an
 * organization that is not there, `not_found`.
 */
export async function createOrganizationToken(
  sql: Database,
  { organization = '', name = '' }: { organization?: string; name?: string },
): Promise<string> {
  if (!/^[^\p{Cc}]{1,100}$/u.test(name)) {
    throw new AppError(
      'invalid_request',
      'Name the token after what will use it, in at most 100 characters: tokens:create ' +
        'ORGANIZATION NAME',
    )
  }
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  const token = { organizationId, deploymentId: null, name, createdBy: null }
  return sql.begin(async (tx) => {
    const { id, secret } = await createStaticToken(tx, token)
    const target = { kind: 'static_token', id, name }
    const after = { automation: null, last_four: secret.slice(-4) }
    const entry = { action: 'static_token_issued', organizationId, target, after }
    await writeAudit(tx, OPERATOR, entry)
    return secret
  })
}
