import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** An organization that wants an image built. */
interface BuildTrust {
  readonly organizationId: number
  /** The ids of the organizations that trust each other, or `*` for all. */
  readonly trusted: readonly string[]
}

/**
 * Raises `conflict` for an organization that may not build with the BuildKit of all: steps of a
 * build run beside those of others, and a hostile one reaches these. An organization that is alone
 * with the platform's own needs no list.
 */
export async function requireTrust(
  sql: Queryable,
  { organizationId, trusted }: BuildTrust,
): Promise<void> {
  if (trusted.includes('*') || trusted.includes(String(organizationId))) return
  const [{ others }] = await sql<[{ others: number }]>`
    select count(*)::int as others from organizations
    where not internal and id <> ${organizationId}`
  if (others === 0) return
  throw new AppError(
    'conflict',
    `No image is built for your organization (id ${organizationId}): BuildKit is shared, and ` +
      `${others === 1 ? 'another organization' : `${others} other organizations`} may build ` +
      'with it. Deploy with the way slim, or ask the operator to list the organizations that ' +
      'trust each other in buildkit.organizations (BUILDKIT_ORGANIZATIONS).',
    { details: { organization_id: organizationId, other_organizations: others } },
  )
}
