import { listBudgetedOrganizations } from '../../platform/budgets/budgets.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** So long it takes at the most until the first budget of an organization holds. */
const KNOWN_MS = 2000

/** After so long it is asked for again, while nobody waits. */
const FRESH_MS = 1000

type Organizations = ReadonlySet<number>

/**
 * Returns a function that tells whether an organization has budgets, as it was two seconds ago at
 * the most: the runs of those without pay nothing for the budgets of others.
 */
export function watchBudgets(sql: Queryable): (organizationId: number) => Promise<boolean> {
  let known: { readonly since: number; readonly organizations: Organizations } | undefined
  let asking: Promise<Organizations> | undefined

  async function ask(): Promise<Organizations> {
    const since = performance.now()
    try {
      const organizations = await listBudgetedOrganizations(sql)
      known = { since, organizations }
      return organizations
    } finally {
      asking = undefined
    }
  }

  return async (organizationId) => {
    const age = known ? performance.now() - known.since : Infinity
    if (age >= FRESH_MS) asking ??= ask()
    // Whoever needs it and gets nothing asks again.
    asking?.catch(() => {})
    const organizations = known && age < KNOWN_MS ? known.organizations : await (asking ?? ask())
    return organizations.has(organizationId)
  }
}
