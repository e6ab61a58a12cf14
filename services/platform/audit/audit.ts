import type { Queryable, Transaction } from '../../shared/postgres/database.ts'

/** Who makes a change, and from where. */
export interface Actor {
  /**
   * A person with a session; a static token; an OAuth client; an operator at the shell; or the
   * platform itself, such as a worker.
   */
  readonly kind: 'person' | 'token' | 'client' | 'operator' | 'platform'
  /** The id of the user, the token or the client; null: it has none. */
  readonly id: string | null
  readonly name: string
  /** null: it belongs to no organization. */
  readonly organizationId: number | null
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

interface AuditTarget {
  /** The noun, such as `webhook`. */
  readonly kind: string
  readonly id: string | number | null
  readonly name?: string | null | undefined
}

/** A change, as it is recorded. */
export interface AuditEntry {
  /** The noun and the participle, such as `webhook_created`. */
  readonly action: string
  readonly target: AuditTarget
  /** The organization that it concerns; null: the platform. @default the actor's */
  readonly organizationId?: number | null
  /**
   * The fields before and after, without secrets; of those that are in both, only the ones that
   * differ are recorded.
   */
  readonly before?: object | undefined
  readonly after?: object | undefined
}

/** An actor for what workers do without being asked. */
export const PLATFORM: Actor = {
  kind: 'platform',
  id: null,
  name: 'the platform',
  organizationId: null,
}

/** An actor for what is done at the shell of the platform. */
export const OPERATOR: Actor = {
  kind: 'operator',
  id: null,
  name: 'an operator',
  organizationId: null,
}

const NAME_MAX = 300
const ID_MAX = 255
const TEXT_MAX = 500
const LIST_MAX = 50
/** The first half of a character that ends beyond the cut. */
const HALF = /[\uD800-\uDBFF]$/

/**
 * Records a change, in the transaction of that change: both are committed, or neither is.
 *
 * @example
 * await sql.begin(async (tx) => {
 *   await deleteWebhook(tx, webhook)
 *   await writeAudit(tx, actor, {
 *     action: 'webhook_deleted',
 *     target: { kind: 'webhook', id: webhook.id, name: webhook.url },
 *   })
 * })
 */
export const writeAudit = (tx: Transaction, by: Actor, entry: AuditEntry): Promise<void> =>
  insertEntry(tx, by, { ...entry, refused: false })

/** Records a call that was refused because its caller lacks the rights. It changed nothing. */
export const writeRefusal = (sql: Queryable, by: Actor, entry: AuditEntry): Promise<void> =>
  insertEntry(sql, by, { ...entry, refused: true })

async function insertEntry(
  sql: Queryable,
  by: Actor,
  { action, target, refused, ...entry }: AuditEntry & { readonly refused: boolean },
): Promise<void> {
  const { organizationId = by.organizationId } = entry
  const { before, after } = differing(entry)
  await sql`
    insert into audit_entries (organization_id, actor_kind, actor_id, actor_name, action, refused,
      target_kind, target_id, target_name, before, after, address, request_id)
    values (${organizationId}, ${by.kind}, ${cut(by.id, ID_MAX)}, ${cut(by.name, NAME_MAX)},
      ${action}, ${refused}, ${target.kind}, ${cut(target.id, NAME_MAX)},
      ${cut(target.name, NAME_MAX)}, ${toJson(before)}::text::jsonb,
      ${toJson(after)}::text::jsonb, ${cut(by.address, 64)}, ${cut(by.requestId, 128)})`
}

/** Names and ids are what others wrote: one that is too long loses its end, not the entry. */
function cut(value: string | number | null | undefined, lengthMax: number): string | null {
  const text = value === null || value === undefined ? '' : String(value).replaceAll('\0', '\uFFFD')
  return text === '' ? null : Array.from(text).slice(0, lengthMax).join('')
}

/** Leaves out the fields that a change left as they were. */
function differing({ before, after }: Pick<AuditEntry, 'before' | 'after'>) {
  if (!before || !after) return { before, after }
  const texts = (facts: object) =>
    new Map(Object.entries(facts).map(([name, value]) => [name, JSON.stringify(value)]))
  const [earlier, later] = [texts(before), texts(after)]
  const changed = (facts: object): object =>
    Object.fromEntries(
      Object.entries(facts).filter(([name]) => earlier.get(name) !== later.get(name)),
    )
  return { before: changed(before), after: changed(after) }
}

const toJson = (facts: object | undefined): string | null =>
  facts === undefined ? null : JSON.stringify(facts, bounded)

/** Keeps an entry small: what is long is told by its beginning. */
function bounded(_name: string, value: unknown): unknown {
  if (typeof value === 'string') {
    const text = value.replaceAll('\0', '\uFFFD')
    return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX).replace(HALF, '')}…` : text
  }
  return Array.isArray(value) && value.length > LIST_MAX ? value.slice(0, LIST_MAX) : value
}
