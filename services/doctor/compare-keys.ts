import type { Answer } from './report.ts'

/** The fingerprints of the OAuth keys of several pods. */
export interface KeyComparison {
  readonly same: boolean
  readonly keys: readonly { readonly pod: string; readonly fingerprint: string | undefined }[]
}

/**
 * Compares the keys of the OAuth service that the pods have (SPEC appendix 6); undefined if none is
 * configured to use it.
 */
export function compareKeys(answers: readonly Answer[]): KeyComparison | undefined {
  const keys = answers.flatMap(({ url, report }) => {
    const oauth = report?.components['oauth']
    if (!oauth || oauth.status === 'skipped') return []
    const { pod, api_key_fingerprint: fingerprint } = oauth.details ?? {}
    return [
      {
        pod: typeof pod === 'string' ? pod : url,
        fingerprint: typeof fingerprint === 'string' ? fingerprint : undefined,
      },
    ]
  })
  if (keys.length === 0) return undefined
  return { same: new Set(keys.map(({ fingerprint }) => fingerprint)).size === 1, keys }
}
