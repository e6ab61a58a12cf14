import { listBudgetedOrganizations } from '../../platform/budgets/budgets.ts'
import { listBudgetedPrices } from '../../platform/budgets/model-prices.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'

/** So long it takes at the most until the first budget of an organization, or a price, applies. */
const KNOWN_MS = 2000

/** After so long it is asked for again, while nobody waits. */
const FRESH_MS = 1000

type Organizations = ReadonlySet<number>

/** What is known of budgets. */
interface BudgetWatch {
  readonly isBudgeted: (organizationId: number) => Promise<boolean>
  /** The prices as `isBudgeted` has found them: an organization's own come first. */
  readonly prices: () => readonly Price[]
}

/**
 * Watches which organizations have budgets and own prices, as it was two seconds ago at the most:
 * the runs of those without pay nothing for the budgets of others.
 */
export function watchBudgets(sql: Queryable, common: readonly Price[]): BudgetWatch {
  let known: { readonly since: number; readonly organizations: Organizations } | undefined
  let asking: Promise<Organizations> | undefined
  let prices = common

  async function ask(): Promise<Organizations> {
    const since = performance.now()
    try {
      const organizations = await listBudgetedOrganizations(sql)
      if (organizations.size > 0) prices = [...(await listBudgetedPrices(sql)), ...common]
      known = { since, organizations }
      return organizations
    } finally {
      asking = undefined
    }
  }

  async function isBudgeted(organizationId: number): Promise<boolean> {
    const age = known ? performance.now() - known.since : Infinity
    if (age >= FRESH_MS) asking ??= ask()
    // Whoever needs it and gets nothing asks again.
    asking?.catch(() => {})
    const organizations = known && age < KNOWN_MS ? known.organizations : await (asking ?? ask())
    return organizations.has(organizationId)
  }

  return { isBudgeted, prices: () => prices }
}
