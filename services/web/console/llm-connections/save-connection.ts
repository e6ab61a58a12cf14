import type { AuditEntry } from '../../../platform/audit/audit.ts'
import { setSealedKey } from '../../../platform/connections/llm-connections.ts'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../platform/connections/llm-keys.ts'
import { originsOf, readerOf } from '../../../platform/connections/llm-usage.ts'
import { AppError } from '../../../shared/errors.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createLlmGuard } from '../../../shared/outgoing/guards.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { Acting } from '../../gate/callers/audited.ts'
import type { WebDeps } from '../../context.ts'
import type { ReadConnection } from './form.ts'
import type { LlmSurroundings } from './test-connection.ts'

/** Returns this pod's variables, the addresses of providers, and the guard of outgoing calls. */
export function surroundingsOf({ diagnostics, config }: WebDeps): LlmSurroundings {
  const { env = {}, providerUrls = {} } = diagnostics ?? {}
  const origins = [...config.LLM_PRIVATE_ORIGINS, ...originsOf(readerOf(env))]
  const proxy = createForwardProxy(config)
  return { env, providerUrls, proxy, guard: createLlmGuard(origins, proxy) }
}

/** How a connection is stored, and the one that was there before. */
export interface Store {
  readonly before?: LlmConnection
  readonly store: (tx: Transaction) => Promise<LlmConnection | undefined>
}

/**
 * Creates the verb that stores a connection with its key. It returns the connection, the problem
 * with the form, or undefined when the connection is gone.
 */
export function createSaver({ sql, config }: WebDeps) {
  const keys = createLlmKeys(config.SECRET_KEY_BASE)
  const audited = createAudited(sql)
  return async function save(
    acting: Acting,
    { problem, key, forgetKey }: ReadConnection,
    { before, store }: Store,
  ): Promise<LlmConnection | string | undefined> {
    if (problem !== undefined) return problem
    const action = before ? 'llm_connection_changed' : 'llm_connection_created'
    const toEntry = (saved: LlmConnection | undefined): AuditEntry | undefined =>
      saved && {
        ...entryOf(action, saved),
        before: before && factsOf(before),
        after: { ...factsOf(saved), ...(key ? { key: 'entered' } : {}) },
      }
    try {
      return await audited(
        acting,
        async (tx) => {
          const saved = await store(tx)
          if (saved && key) await setSealedKey(tx, saved, keys.seal(key, saved))
          else if (saved && forgetKey) await setSealedKey(tx, saved, null)
          return saved
        },
        toEntry,
      )
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return thrown.message
      throw thrown
    }
  }
}

/** Returns an entry of the audit about a connection. */
export const entryOf = (action: string, { id, name }: LlmConnection): AuditEntry => ({
  action,
  target: { kind: 'llm_connection', id, name },
})

const factsOf = ({ name, provider, model, baseUrl, api, hasKey }: LlmConnection) => ({
  name,
  provider,
  model,
  base_url: baseUrl,
  api,
  has_key: hasKey,
})
