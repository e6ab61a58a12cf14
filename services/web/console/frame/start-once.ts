import { createHash } from 'node:crypto'
import { isUuid } from '../../../platform/automations/automations.ts'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'

/**
 * Returns the idempotency key of a form that starts a run: sent twice, by a double click, it starts
 * one run; filled in anew, it starts another. Undefined for a form without an id.
 */
export function startOnceKey(formId: string | null, inputs: Inputs): string | undefined {
  if (!formId || !isUuid(formId)) return undefined
  const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex')
  return `form-${formId}-${hash}`
}
