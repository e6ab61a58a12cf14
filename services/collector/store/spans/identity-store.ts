import type { Identity } from '../../otlp/identities.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { dayOf, startOfDay } from './partitions.ts'
import type { Day } from './partitions.ts'

const REMEMBERED_MAX = 20_000

/** Stores the resources and scopes that rows refer to. */
export type StoreIdentities = (session: Session, identities: Iterable<Identity>) => Promise<void>

/**
 * Stores each identity once a day: the day tells retention that it is still in use. What this
 * process has stored today costs no statement.
 */
export function createIdentityStore(now: () => number): StoreIdentities {
  const stored = new Map<string, Day>()
  return async (session, identities) => {
    const today = dayOf(now())
    const missing = [...identities].filter((identity) => stored.get(keyOf(identity)) !== today)
    for (const kind of ['resource', 'scope'] as const) {
      const list = ofKind(missing, kind)
      if (list.length > 0) await session.query(INSERT[kind](valuesOf(list), startOfDay(today)))
    }
    if (stored.size > REMEMBERED_MAX) stored.clear()
    for (const identity of missing) stored.set(keyOf(identity), today)
  }
}

const keyOf = ({ kind, id }: Identity): string => `${kind} ${id}`

/**
 * In the order of their ids: replicas that store the same ones at once must not wait for each other
 * in a circle.
 */
function ofKind(identities: readonly Identity[], kind: Identity['kind']): Identity[] {
  const byId = new Map(identities.filter((one) => one.kind === kind).map((one) => [one.id, one]))
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

const valuesOf = (list: readonly Identity[]): string =>
  list
    .map(({ id, organization, document }) => {
      return `(${id}, ${quote(organization)}, ${quote(document)}::jsonb)`
    })
    .join(', ')

const INSERT: Readonly<Record<Identity['kind'], (values: string, day: string) => string>> = {
  resource: (values, day) => `
    insert into resources
      (id, organization, last_seen, attributes, dropped_attributes, schema_url)
    select id, organization, '${day.slice(0, 10)}', doc->'attributes',
      (doc->>'dropped_attributes')::int8, doc->>'schema_url'
    from (values ${values}) as given (id, organization, doc)
    on conflict (id) do update set last_seen = excluded.last_seen
    where resources.last_seen < excluded.last_seen`,
  scope: (values, day) => `
    insert into scopes
      (id, organization, last_seen, name, version, attributes, dropped_attributes, schema_url)
    select id, organization, '${day.slice(0, 10)}', doc->>'name', doc->>'version',
      doc->'attributes', (doc->>'dropped_attributes')::int8, doc->>'schema_url'
    from (values ${values}) as given (id, organization, doc)
    on conflict (id) do update set last_seen = excluded.last_seen
    where scopes.last_seen < excluded.last_seen`,
}
