import { listBudgetedOrganizations } from '../platform/budgets.ts'
import type { Queryable } from '../shared/postgres/database.ts'

/** So long it takes at the most until the first budget of an organization holds. */
const KNOWN_MS = 2000

interface Known {
  readonly since: number
  readonly organizations: Promise<ReadonlySet<number>>
}

/**
 * Returns a function that tells whether an organization has budgets, as it was two seconds ago at
 * the most: the runs of those without pay nothing for the budgets of others.
 */
export function watchBudgets(sql: Queryable): (organizationId: number) => Promise<boolean> {
  let known: Known | undefined

  function read(): Promise<ReadonlySet<number>> {
    if (known && performance.now() - known.since < KNOWN_MS) return known.organizations
    const asked = { since: performance.now(), organizations: listBudgetedOrganizations(sql) }
    asked.organizations.catch(() => {
      if (known === asked) known = undefined
    })
    known = asked
    return asked.organizations
  }

  return async (organizationId) => (await read()).has(organizationId)
}
