import { listSealedKeys, replaceSealedKey } from '../platform/connections/llm-connections.ts'
import {
  listSealedCrewSecrets,
  replaceSealedCrewSecret,
} from '../platform/crews/crew-variable-seals.ts'
import type { SecretCursor } from '../platform/crews/crew-variable-seals.ts'
import {
  createRepositorySeals,
  listSealedRepositorySecrets,
  replaceSealedRepositorySecret,
} from '../platform/crews/source-repository-seals.ts'
import type { RepositorySecretKey } from '../platform/crews/source-repository-seals.ts'
import { createVariableSeals } from '../platform/crews/crew-variables.ts'
import { listSealedNeedles, replaceSealedNeedle } from '../platform/erasures/erasures.ts'
import { createNeedleSeals } from '../platform/erasures/needle.ts'
import { createLlmKeys } from '../platform/connections/llm-keys.ts'
import { renewSigningKey } from '../platform/receipts/receipt-keys.ts'
import {
  listSealedTriggerSecrets,
  replaceSealedTriggerSecrets,
} from '../platform/triggers/triggers.ts'
import { createWebhookKeys } from '../platform/webhooks/webhook-keys.ts'
import type { WebhookKeys } from '../platform/webhooks/webhook-keys.ts'
import { listSealedWebhookKeys, replaceSealedWebhookKeys } from '../platform/webhooks/webhooks.ts'
import {
  listSealedForwardHeaders,
  replaceSealedForwardHeaders,
} from '../platform/traces/trace-forwards.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const PAGE_ROWS = 500
const NO_ID = '00000000-0000-0000-0000-000000000000'

interface SecretKeyPair {
  readonly current: string | undefined
  readonly previous: string | undefined
}

type Outcome = 'resealed' | 'current' | 'unreadable'

/**
 * Seals the keys of LLM connections, webhooks and triggers, the headers of trace forwards, the
 * secrets of crews and repositories,
 * and what erasures look for, with the current SECRET_KEY_BASE, so that the previous one is no
 * longer needed; the key that signs receipts gets a follower. Safe to run again. Raises
 * `invalid_configuration` without a key, and `conflict` when some open with neither.
 */
export async function resealKeys(
  sql: Database,
  { current, previous }: SecretKeyPair,
  log: Log,
): Promise<void> {
  if (current === undefined) {
    throw new AppError('invalid_configuration', 'SECRET_KEY_BASE is required and not set.')
  }
  const counts = { resealed: 0, current: 0, unreadable: 0 }
  for await (const outcome of resealLlmKeys(sql, current, previous)) counts[outcome] += 1
  const keys = createWebhookKeys(current, previous)
  for (const of of [WEBHOOKS, TRIGGERS, FORWARDS]) {
    for await (const outcome of resealWebhookKeys(sql, keys, of)) counts[outcome] += 1
  }
  for await (const outcome of resealCrewSecrets(sql, current, previous)) counts[outcome] += 1
  for await (const outcome of resealRepositories(sql, current, previous)) counts[outcome] += 1
  for await (const outcome of resealNeedles(sql, current, previous)) counts[outcome] += 1
  const signing = await renewSigningKey(sql, { current, previous })
  if (signing) counts[signing] += 1
  log.info(counts, 'keys of LLM connections, webhooks and triggers, and secrets of crews')
  if (counts.unreadable > 0) {
    throw new AppError(
      'conflict',
      `${counts.unreadable} keys of LLM connections, webhooks and triggers, or secrets of crews, ` +
        'open neither with SECRET_KEY_BASE nor with SECRET_KEY_BASE_PREVIOUS. Give the former ' +
        'key as SECRET_KEY_BASE_PREVIOUS, or enter those keys and variables again; webhooks and ' +
        'triggers get new ones on their page.',
    )
  }
}

async function* resealLlmKeys(
  sql: Database,
  current: string,
  previous?: string,
): AsyncGenerator<Outcome> {
  const keys = createLlmKeys(current, previous)
  for (let afterId = 0, more = true; more;) {
    const page = await listSealedKeys(sql, { afterId, limit: PAGE_ROWS })
    for (const sealed of page) {
      const resealed = keys.reseal(sealed.sealedKey, sealed)
      if (resealed) await replaceSealedKey(sql, sealed, resealed)
      yield outcomeOf(resealed, keys.open(sealed.sealedKey, sealed))
    }
    more = page.length === PAGE_ROWS
    afterId = page.at(-1)?.id ?? afterId
  }
}

const WEBHOOKS = { list: listSealedWebhookKeys, replace: replaceSealedWebhookKeys }
const FORWARDS = { list: listSealedForwardHeaders, replace: replaceSealedForwardHeaders }
const TRIGGERS = { list: listSealedTriggerSecrets, replace: replaceSealedTriggerSecrets }

/**
 * Those of webhooks or triggers, and headers of trace forwards. The former key goes along: one that
 * cannot be read is one that is good no more.
 */
async function* resealWebhookKeys(
  sql: Database,
  keys: WebhookKeys,
  { list, replace }: typeof WEBHOOKS,
): AsyncGenerator<Outcome> {
  for (let afterId = NO_ID, more = true; more;) {
    const page = await list(sql, { afterId, limit: PAGE_ROWS })
    for (const sealed of page) {
      const { sealedKey, sealedPreviousKey: former } = sealed
      const resealed = keys.reseal(sealedKey, sealed)
      const resealedFormer = former ? keys.reseal(former, sealed) : undefined
      if (resealed ?? resealedFormer) {
        await replace(sql, sealed, {
          ...sealed,
          sealedKey: resealed ?? sealedKey,
          sealedPreviousKey: resealedFormer ?? former,
        })
      }
      yield outcomeOf(resealed, keys.open(sealedKey, sealed))
    }
    more = page.length === PAGE_ROWS
    afterId = page.at(-1)?.id ?? afterId
  }
}

/** Those of the next deployments, and of the ones that go on. */
async function* resealCrewSecrets(
  sql: Database,
  current: string,
  previous?: string,
): AsyncGenerator<Outcome> {
  const seals = createVariableSeals(current, previous)
  let after: SecretCursor | undefined
  for (let more = true; more;) {
    const page = await listSealedCrewSecrets(sql, { after, limit: PAGE_ROWS })
    for (const sealed of page) {
      const resealed = seals.reseal(sealed.sealedValue, sealed)
      if (resealed) await replaceSealedCrewSecret(sql, sealed, resealed)
      yield outcomeOf(resealed, seals.open(sealed.sealedValue, sealed))
    }
    more = page.length === PAGE_ROWS
    after = page.at(-1) ?? after
  }
}

/** The access tokens of repositories, and the secrets of their webhooks. */
async function* resealRepositories(
  sql: Database,
  current: string,
  previous?: string,
): AsyncGenerator<Outcome> {
  const seals = createRepositorySeals(current, previous)
  let after: RepositorySecretKey | undefined
  for (let more = true; more;) {
    const page = await listSealedRepositorySecrets(sql, { after, limit: PAGE_ROWS })
    for (const secret of page) {
      const resealed = seals.reseal(secret.sealed, secret)
      if (resealed) await replaceSealedRepositorySecret(sql, secret, resealed)
      yield outcomeOf(resealed, seals.open(secret.sealed, secret))
    }
    more = page.length === PAGE_ROWS
    after = page.at(-1) ?? after
  }
}

/** What erasures look for. */
async function* resealNeedles(
  sql: Database,
  current: string,
  previous?: string,
): AsyncGenerator<Outcome> {
  const seals = createNeedleSeals(current, previous)
  for (let afterId = NO_ID, more = true; more;) {
    const page = await listSealedNeedles(sql, { afterId, limit: PAGE_ROWS })
    for (const each of page) {
      const resealed = seals.reseal(each.sealed, each)
      if (resealed) await replaceSealedNeedle(sql, each, resealed)
      yield outcomeOf(resealed, seals.open(each.sealed, each))
    }
    more = page.length === PAGE_ROWS
    afterId = page.at(-1)?.id ?? afterId
  }
}

function outcomeOf(resealed: Buffer | undefined, opened: string | undefined): Outcome {
  if (resealed) return 'resealed'
  return opened === undefined ? 'unreadable' : 'current'
}
