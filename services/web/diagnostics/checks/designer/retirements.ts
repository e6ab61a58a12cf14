import { readOnly } from '../../../../platform/diagnostics.ts'
import {
  listRetiringModels,
  RETIREMENT_NOTICE_DAYS,
  retirementsOf,
} from '../../../../platform/connections/model-retirements.ts'
import type { RetiringModel } from '../../../../platform/connections/model-retirements.ts'
import type { WebConfig } from '../../../env.ts'
import type { CheckContext } from '../../check.ts'
import { declareCodes } from '../../failure-code.ts'
import { warning } from '../../finding.ts'
import type { Layer } from '../../layer.ts'
import { orAbort } from '../../or-abort.ts'

const NAMED_MAX = 5

/** The code of models that their providers turn off. */
export const RETIREMENT_WARNINGS = declareCodes({
  model_retires:
    'Open the page of the automation: it drafts a version with the successor. Test the draft, ' +
    'replay recorded runs with it, and publish it before the day.',
})

/** Finds the automations that call a model which is turned off soon. Fails never, as the queue. */
export async function checkRetirements(
  { signal, sql }: CheckContext,
  { MODEL_RETIREMENTS: own }: WebConfig,
): Promise<Layer> {
  const none = { passed: [], failures: [], details: {} }
  if (signal.aborted) return none
  try {
    const retirements = retirementsOf(own)
    const found = await orAbort(
      signal,
      readOnly(sql, (tx) => listRetiringModels(tx, retirements)),
    )
    if (found.length === 0) return none
    return { ...none, warnings: [warning(RETIREMENT_WARNINGS.model_retires, describe(found))] }
  } catch {
    return none
  }
}

function describe(found: readonly RetiringModel[]): string {
  const named = found
    .slice(0, NAMED_MAX)
    .map(({ automationName, model, on }) => `${automationName} calls ${model} (${on})`)
  const rest = found.length > NAMED_MAX ? `, and ${found.length - NAMED_MAX} more` : ''
  return (
    `models are turned off by their providers within ${RETIREMENT_NOTICE_DAYS} days, or were: ` +
    `${named.join(', ')}${rest}`
  )
}
