import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { isUuid } from '../automations/automations.ts'
import { refuseHeldRuns } from '../runs/run-retention.ts'
import type { SealedWebhookKeys, WebhookKey } from '../webhooks/webhooks.ts'
import type { Signing } from './signature-schemes.ts'
import type { Mapping } from './trigger-mapping.ts'

/** The most triggers that one automation has. */
export const TRIGGERS_MAX = 20
/** The time for which deliveries may be signed with the former secret as well. */
export const FORMER_SECRET_HOURS = 24

/** The fields of a trigger that people enter, without its secret. */
export interface TriggerFields extends Signing, Mapping {
  readonly name: string
}

/** An address that takes the webhooks of a third party, each of which may start a run. */
export interface Trigger extends WebhookKey, TriggerFields {
  readonly hasSecret: boolean
  /** Until then the former secret is good as well. */
  readonly previousSecretUntil: Date | null
  readonly pausedAt: Date | null
  /** Why the platform paused it; null: a person did. */
  readonly pauseReason: string | null
  readonly createdAt: Date
}

const columns = (sql: Queryable) => sql`
  t.id, t.deployment_id, t.name, t.scheme, t.header, t.filter, t.delivery_path, t.inputs,
  t.sealed_key is not null as has_secret, t.paused_at, t.pause_reason, t.created_at,
  case when t.previous_key_until > now() then t.previous_key_until end as previous_secret_until`

const columnsOf = ({ name, scheme, header, filter, deliveryPath, inputs }: TriggerFields) => ({
  name,
  scheme,
  header,
  filter,
  deliveryPath,
  inputs: JSON.stringify(inputs),
})

/** Creates a trigger. Raises `conflict` when the automation has as many as it may. */
export async function createTrigger(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
  fields: TriggerFields & { readonly sealedKey: Buffer | null },
): Promise<Trigger> {
  const { name, scheme, header, filter, deliveryPath, inputs } = columnsOf(fields)
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    const [created] = await tx<Trigger[]>`
      insert into triggers as t (id, deployment_id, name, scheme, header, filter, delivery_path,
        inputs, sealed_key)
      select ${id}, ${deploymentId}, ${name}, ${scheme}, ${header}, ${filter}, ${deliveryPath},
        ${inputs}::text::jsonb, ${fields.sealedKey}
      where (select count(*) from triggers where deployment_id = ${deploymentId}) < ${TRIGGERS_MAX}
      returning ${columns(tx)}`
    if (created) return created
    throw new AppError(
      'conflict',
      `An automation has at most ${TRIGGERS_MAX} triggers. Delete one that is no longer used.`,
    )
  })
}

/** Changes a trigger, apart from its secret. */
export async function updateTrigger(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
  fields: TriggerFields,
): Promise<void> {
  const { name, header, filter, deliveryPath, inputs } = columnsOf(fields)
  await sql`
    update triggers set name = ${name}, header = ${header}, filter = ${filter},
      delivery_path = ${deliveryPath}, inputs = ${inputs}::text::jsonb
    where id = ${id} and deployment_id = ${deploymentId}`
}

/** Gives a trigger a new secret; the one before, if there is one, is good for a day more. */
export async function replaceTriggerSecret(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
  sealedKey: Buffer,
): Promise<void> {
  await sql`
    update triggers set sealed_key = ${sealedKey}, sealed_previous_key = sealed_key,
      previous_key_until = case when sealed_key is not null
        then now() + make_interval(hours => ${FORMER_SECRET_HOURS}) end
    where id = ${id} and deployment_id = ${deploymentId}`
}

/** Ends the former secret of a trigger at once. */
export async function endFormerSecret(sql: Queryable, { id }: WebhookKey): Promise<void> {
  await sql`
    update triggers set sealed_previous_key = null, previous_key_until = null where id = ${id}`
}

/** Returns a trigger of this automation; undefined for one of another. */
export async function findTrigger(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
): Promise<Trigger | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<Trigger[]>`
    select ${columns(sql)} from triggers t
    where t.id = ${id} and t.deployment_id = ${deploymentId}`
  return found
}

/** What deliveries to an address are signed with. */
export interface SealedSecret extends WebhookKey, Signing {
  readonly organizationId: number
  readonly sealedKey: Buffer
  /** null: there is none, or its time is over. */
  readonly sealedPreviousKey: Buffer | null
}

/** Returns the secret of an address; undefined where no trigger has it, or has no secret yet. */
export async function findSecretOfAddress(
  sql: Queryable,
  id: string,
): Promise<SealedSecret | undefined> {
  const [found] = await sql<SealedSecret[]>`
    select t.id, t.deployment_id, d.organization_id, t.scheme, t.header, t.sealed_key,
      case when t.previous_key_until > now() then t.sealed_previous_key end as sealed_previous_key
    from triggers t join deployments d on d.id = t.deployment_id
    where t.id = ${isUuid(id) ? id : null} and t.sealed_key is not null`
  return found
}

/** Returns the triggers of an automation, the oldest first. */
export const listTriggers = (sql: Queryable, deploymentId: number): Promise<Trigger[]> =>
  sql<Trigger[]>`
    select ${columns(sql)} from triggers t
    where t.deployment_id = ${deploymentId} order by t.created_at, t.id`

/** Keeps deliveries from starting runs. The reason is the platform's, if it did it. */
export async function pauseTrigger(
  sql: Queryable,
  id: string,
  reason: string | null = null,
): Promise<void> {
  await sql`
    update triggers set paused_at = now(), pause_reason = ${reason}
    where id = ${id} and paused_at is null`
}

/** Lets deliveries start runs again; those that were skipped stay so. */
export async function resumeTrigger(sql: Queryable, { id }: WebhookKey): Promise<void> {
  await sql`update triggers set paused_at = null, pause_reason = null where id = ${id}`
}

/**
 * Deletes a trigger with its deliveries; the runs that they started stay. Raises `conflict` when a
 * hold keeps one of these.
 */
export async function deleteTrigger(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
): Promise<void> {
  const started = sql`(select run_id from trigger_deliveries where trigger_id = ${id})`
  await refuseHeldRuns(sql, sql`e.id in ${started}`)
  await sql`delete from triggers where id = ${id} and deployment_id = ${deploymentId}`
}

/** Returns the secrets of all triggers after `afterId`, by id; fewer than `limit` are the last. */
export const listSealedTriggerSecrets = (
  sql: Queryable,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<SealedWebhookKeys[]> =>
  sql<SealedWebhookKeys[]>`
    select id, deployment_id, sealed_key, sealed_previous_key from triggers
    where id > ${afterId} and sealed_key is not null order by id limit ${limit}`

/** Puts other seals on the secrets of a trigger, unless a person has changed them meanwhile. */
export async function replaceSealedTriggerSecrets(
  sql: Queryable,
  before: SealedWebhookKeys,
  { sealedKey, sealedPreviousKey }: SealedWebhookKeys,
): Promise<void> {
  await sql`
    update triggers set sealed_key = ${sealedKey}, sealed_previous_key = ${sealedPreviousKey}
    where id = ${before.id} and sealed_key = ${before.sealedKey}`
}
