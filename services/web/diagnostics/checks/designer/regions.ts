import { findOutsideNow } from '../../../../platform/connections/outside-now.ts'
import type { OutsideNow } from '../../../../platform/connections/outside-now.ts'
import { readOnly } from '../../../../platform/diagnostics.ts'
import type { CheckContext } from '../../check.ts'
import { declareCodes } from '../../failure-code.ts'
import { warning } from '../../finding.ts'
import type { Layer } from '../../layer.ts'
import { orAbort } from '../../or-abort.ts'

const NAMED_MAX = 5
const NOUNS: Readonly<Record<string, string>> = {
  llm_connection: 'of the LLM connections',
  connection: 'of the connections',
  webhook: 'of the webhooks',
  version: 'of the running versions',
}

/** The code of what is outside of the regions in which organizations keep their data. */
export const REGION_WARNINGS = declareCodes({
  outside_of_regions:
    'An admin of the organization opens the page Regions in its settings, which lists each: give ' +
    'it a region that is allowed, publish a version without it, delete it, or change the rule. ' +
    'Until then runs that need it fail, and webhooks that are outside are paused.',
})

/** Counts by organization what is outside of its rule. Fails never, as the queue. */
export async function checkRegions({ signal, sql }: CheckContext): Promise<Layer> {
  const none = { passed: [], failures: [], details: {} }
  if (signal.aborted) return none
  try {
    const found = await orAbort(
      signal,
      readOnly(sql, (tx) => findOutsideNow(tx)),
    )
    // Whoever deploys a program under a rule was told so, and nothing here would change it.
    const held = found.filter(({ kind }) => kind !== 'source')
    if (held.length === 0) return none
    return { ...none, warnings: [warning(REGION_WARNINGS.outside_of_regions, describe(held))] }
  } catch {
    return none
  }
}

function describe(found: readonly OutsideNow[]): string {
  const counts = new Map<string, Map<string, number>>()
  for (const { organization, kind } of found) {
    const own = counts.get(organization) ?? new Map<string, number>()
    counts.set(organization, own.set(kind, (own.get(kind) ?? 0) + 1))
  }
  const named = [...counts].slice(0, NAMED_MAX).map(([organization, own]) => {
    const kinds = [...own].map(([kind, all]) => `${all} ${NOUNS[kind] ?? kind}`)
    return `${organization} (${kinds.join(', ')})`
  })
  const rest = counts.size > NAMED_MAX ? `, and ${counts.size - NAMED_MAX} more` : ''
  return `outside of the regions of their organizations: ${named.join(', ')}${rest}`
}
