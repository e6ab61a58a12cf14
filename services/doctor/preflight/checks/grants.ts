import type { Database } from '../../../shared/postgres/database.ts'
import { readLacks } from '../../fixes/grants.ts'

const OBJECTS_MAX = 5

/** A privilege that the user lacks, and the statement that grants it. */
interface MissingGrant {
  readonly what: string
  readonly statement: string
}

/**
 * Lists the privileges that migrations and services need and the user of this connection lacks: on
 * the schema, on tables and sequences that exist already, and their ownership (SPEC appendix 5).
 */
export async function listMissingGrants(sql: Database): Promise<readonly MissingGrant[]> {
  const [{ role }] = await sql<[{ role: string }]>`select current_user as role`
  const all = await readLacks(sql, { role, kinds: ['SCHEMA', 'TABLE', 'SEQUENCE'] })
  const user = all[0]?.grantee ?? role
  const foreign = all.filter(({ kind, isOwner }) => kind !== 'SCHEMA' && !isOwner)
  const onSchema = all.find(({ kind }) => kind === 'SCHEMA')?.missing.split(', ') ?? []
  const on = (kind: 'TABLE' | 'SEQUENCE', verbs: string): MissingGrant[] => {
    const lacks = foreign.filter((each) => each.kind === kind && each.missing !== '')
    if (lacks.length === 0) return []
    const names = lacks.slice(0, OBJECTS_MAX).map(({ name }) => name)
    const statement = `GRANT ALL PRIVILEGES ON ALL ${kind}S IN SCHEMA public TO ${user}`
    return [{ what: `no right to ${verbs} ${names.join(', ')}`, statement }]
  }
  return [
    ...onSchema.filter(Boolean).map((right) => ({
      what: `no ${right} on the schema public`,
      statement: `GRANT ${right} ON SCHEMA public TO ${user}`,
    })),
    ...on('TABLE', 'read and write'),
    ...on('SEQUENCE', 'use the sequences'),
    ...[...new Set(foreign.map(({ owner }) => owner))].map((owner) => ({
      what: `tables of ${owner}, which migrations cannot change`,
      statement: `GRANT ${owner} TO ${user}`,
    })),
  ]
}
