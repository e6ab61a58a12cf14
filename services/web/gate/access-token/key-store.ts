import { toAppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import type { AuthMetrics } from './metrics.ts'
import { fetchKeys } from './fetch-keys.ts'
import type { KeySource } from './fetch-keys.ts'
import { createKeySet } from './key-set.ts'
import type { KeySet } from './key-set.ts'

const ORGANIZATIONS_MAX = 10_000
/** More than that have to be fetched again by turns. */
const SOURCES_MAX = 50

/** Options of `createKeyStore`. */
interface KeyStoreOptions {
  readonly guard: OutgoingGuard
  readonly staleMs: number
  readonly log: Log
  readonly metrics?: AuthMetrics | undefined
  readonly now: () => number
}

/** The key sets of all organizations, of each authorization server that they name. */
export interface KeyStore {
  /** Returns the keys of an authorization server of an organization. */
  of(organizationId: number, source: KeySource): KeySet
}

interface Entry {
  readonly source: KeySource
  readonly keys: KeySet
}

const isSame = (one: KeySource, other: KeySource): boolean =>
  one.issuer === other.issuer &&
  one.discoveryUrl === other.discoveryUrl &&
  one.jwksUrl === other.jwksUrl

/**
 * Creates a store with the key sets of each organization: the settings and outages of one never
 * touch the keys of another.
 */
export function createKeyStore(options: KeyStoreOptions): KeyStore {
  const { guard, staleMs, log, metrics, now } = options
  const entries = new Map<number, Entry[]>()

  function open(organizationId: number, source: KeySource): KeySet {
    async function fetch() {
      const started = now()
      const facts = { organization_id: organizationId, issuer: source.issuer }
      try {
        const { keys } = await fetchKeys(source, { guard, organizationId })
        log.info({ ...facts, keys: keys.length, duration_ms: now() - started }, 'keys fetched')
        metrics?.keysFetched('ok')
        return keys
      } catch (thrown) {
        log.warn({ ...facts, reason: toAppError(thrown).message }, 'keys cannot be fetched')
        metrics?.keysFetched('error')
        throw thrown
      }
    }
    return createKeySet({ fetch, staleMs, now, onStale: () => metrics?.staleKeysServed() })
  }

  return {
    of(organizationId, source) {
      const own = entries.get(organizationId) ?? []
      const known = own.find((each) => isSame(each.source, source))
      if (known) return known.keys
      const keys = open(organizationId, source)
      const [oldest] = entries.keys()
      if (entries.size >= ORGANIZATIONS_MAX && oldest !== undefined) entries.delete(oldest)
      entries.set(organizationId, [...own.slice(1 - SOURCES_MAX), { source, keys }])
      return keys
    },
  }
}
