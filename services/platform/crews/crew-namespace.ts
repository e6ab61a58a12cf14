import type { Queryable } from '../../shared/postgres/database.ts'
import { isEnabled } from '../feature-flags.ts'

/**
 * The namespace rule of SPEC 7: one for all crews, or with `k8s_namespace_isolation` one for each
 * organization.
 */
export function crewNamespaceOf(
  base: string,
  { organizationId, isolated }: { organizationId: number; isolated: boolean },
): string {
  return isolated ? `${base}-org-${organizationId}` : base
}

/** Returns the namespace in which the crews of an organization run, by the flag as it is now. */
export async function findCrewNamespace(
  sql: Queryable,
  base: string,
  organizationId: number,
): Promise<{ readonly namespace: string; readonly isolated: boolean }> {
  const isolated = await isEnabled(sql, 'k8s_namespace_isolation', organizationId)
  return { namespace: crewNamespaceOf(base, { organizationId, isolated }), isolated }
}
