import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { toAppError } from '../../../shared/errors.ts'
import { fetchKeys } from './fetch-keys.ts'
import type { FetchOptions, FetchStep } from './fetch-keys.ts'
import { fits } from './vet-keys.ts'

/** The outcome of a test of the OAuth settings. */
export interface ConfigurationTest {
  readonly ok: boolean
  /** All requests in order; the last place of discovery that answered counts. */
  readonly steps: readonly FetchStep[]
  /** The outcome in a sentence. */
  readonly result: string
  readonly keys: readonly { readonly id: string; readonly kind: string; readonly usable: boolean }[]
  readonly tokenUrl: string | null
}

/**
 * Reads the metadata and the keys as the gate would, step by step. Stores nothing, and never
 * raises.
 */
export async function testConfiguration(
  settings: AutomationOauth,
  options: Omit<FetchOptions, 'onStep'>,
): Promise<ConfigurationTest> {
  const steps: FetchStep[] = []
  const onStep = (step: FetchStep): void => void steps.push(step)
  try {
    const found = await fetchKeys(settings, { ...options, onStep })
    const keys = found.keys.map((key) => ({
      id: key.kid ?? 'without an id',
      kind: [key.kty, key.crv, key.alg].filter(Boolean).join(' '),
      usable: settings.algorithms.some((algorithm) => fits(key, algorithm)),
    }))
    const usable = keys.filter((key) => key.usable).length
    const result =
      usable > 0
        ? `${usable} of ${keys.length} signing keys fit the algorithms that you allow.`
        : 'No signing key fits an algorithm that you allow: every token would be refused.'
    return { ok: usable > 0, steps, result, keys, tokenUrl: found.tokenUrl }
  } catch (thrown) {
    return { ok: false, steps, result: toAppError(thrown).message, keys: [], tokenUrl: null }
  }
}
