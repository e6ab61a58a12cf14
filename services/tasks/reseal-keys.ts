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
import type { Seals } from '../shared/vault.ts'
import type { Log } from '../shared/log.ts'

const PAGE_ROWS = 500
const NO_ID = '00000000-0000-0000-0000-000000000000'

interface SecretKeyPair {
  readonly current: string | undefined
  readonly previous: string | undefined
}

/**
 * Seals the keys of LLM connections, webhooks and triggers, the headers of trace forwards, the
 * secrets of crews and repositories, and what erasures look for, with the current SECRET_KEY_BASE,
 * so that the previous one is no longer needed; the key that signs receipts gets a follower. Safe
 * to run again. Raises `invalid_configuration` without a key, and `conflict` when some open with
 * neither.
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
  for await (const [resealed, opened] of resealAll(sql, current, previous)) {
    if (resealed) counts.resealed += 1
    else if (opened === undefined) counts.unreadable += 1
    else counts.current += 1
  }
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

/** A secret that was sealed anew, and as it was opened; undefined where it was not. */
type Outcome = readonly [resealed: Buffer | undefined, opened: string | undefined]

async function* resealAll(
  sql: Database,
  current: string,
  previous?: string,
): AsyncGenerator<Outcome> {
  const limit = PAGE_ROWS
  const keys = createWebhookKeys(current, previous)
  yield* resealRows(
    rowsOf(
      0,
      (afterId) => listSealedKeys(sql, { afterId, limit }),
      ({ id }) => id,
    ),
    createLlmKeys(current, previous),
    { sealedOf: (row) => row.sealedKey, replace: replaceSealedKey.bind(null, sql) },
  )
  for (const of of [WEBHOOKS, TRIGGERS, FORWARDS]) yield* resealWebhookKeys(sql, keys, of)
  // Those of the next deployments, and of the ones that go on.
  yield* resealRows(
    rowsOf(
      undefined,
      (after: SecretCursor | undefined) => listSealedCrewSecrets(sql, { after, limit }),
      (row) => row,
    ),
    createVariableSeals(current, previous),
    { sealedOf: (row) => row.sealedValue, replace: replaceSealedCrewSecret.bind(null, sql) },
  )
  // The access tokens of repositories, and the secrets of their webhooks.
  yield* resealRows(
    rowsOf(
      undefined,
      (after: RepositorySecretKey | undefined) =>
        listSealedRepositorySecrets(sql, { after, limit }),
      (row) => row,
    ),
    createRepositorySeals(current, previous),
    { sealedOf: (row) => row.sealed, replace: replaceSealedRepositorySecret.bind(null, sql) },
  )
  yield* resealRows(
    rowsOf(
      NO_ID,
      (afterId) => listSealedNeedles(sql, { afterId, limit }),
      ({ id }) => id,
    ),
    createNeedleSeals(current, previous),
    { sealedOf: (row) => row.sealed, replace: replaceSealedNeedle.bind(null, sql) },
  )
}

async function* rowsOf<Row, Cursor>(
  first: Cursor,
  list: (after: Cursor) => Promise<readonly Row[]>,
  cursorOf: (row: Row) => Cursor,
): AsyncGenerator<Row> {
  for (let after = first, more = true; more;) {
    const page = await list(after)
    yield* page
    more = page.length === PAGE_ROWS
    const last = page.at(-1)
    if (last !== undefined) after = cursorOf(last)
  }
}

interface Sealed<Row> {
  readonly sealedOf: (row: Row) => Buffer
  readonly replace: (row: Row, resealed: Buffer) => Promise<void>
}

async function* resealRows<Row>(
  rows: AsyncIterable<Row>,
  seals: Seals<NoInfer<Row>>,
  { sealedOf, replace }: Sealed<Row>,
): AsyncGenerator<Outcome> {
  for await (const row of rows) {
    const resealed = seals.reseal(sealedOf(row), row)
    if (resealed) await replace(row, resealed)
    yield [resealed, seals.open(sealedOf(row), row)]
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
  const limit = PAGE_ROWS
  for await (const row of rowsOf(
    NO_ID,
    (afterId) => list(sql, { afterId, limit }),
    ({ id }) => id,
  )) {
    const { sealedKey, sealedPreviousKey: former } = row
    const resealed = keys.reseal(sealedKey, row)
    const resealedFormer = former ? keys.reseal(former, row) : undefined
    if (resealed ?? resealedFormer) {
      await replace(sql, row, {
        ...row,
        sealedKey: resealed ?? sealedKey,
        sealedPreviousKey: resealedFormer ?? former,
      })
    }
    yield [resealed, keys.open(sealedKey, row)]
  }
}
