import type { Database, Queryable, Transaction } from '../shared/postgres/database.ts'
import type { LlmConnection } from './connections/llm-connections.ts'

/** Runs queries in a transaction that PostgreSQL itself keeps from writing. */
export async function readOnly<Result>(
  sql: Database,
  read: (sql: Transaction) => Promise<Result>,
): Promise<Result> {
  const box: { result?: Result } = {}
  await sql.begin('read only', async (transaction) => {
    box.result = await read(transaction)
  })
  // The transaction ended well, so `read` did.
  return box.result as Result
}

/**
 * Reads from the tables without which there is no designer. Rejects when one is missing or not
 * readable.
 */
export async function readCoreTables(sql: Queryable): Promise<void> {
  await sql`
    select exists (select from projects), exists (select from project_versions),
      exists (select from executions)`
}

/** Looks for the tool repository that every crew may use (SPEC 2.3). */
export async function hasPublicToolRepository(sql: Queryable): Promise<boolean> {
  const found = await sql`select from tool_repositories where organization_id is null limit 1`
  return found.length > 0
}

/** The LLM connections of all organizations. */
export async function listAllLlmConnections(
  sql: Queryable,
): Promise<Pick<LlmConnection, 'id' | 'provider' | 'baseUrl' | 'hasKey'>[]> {
  return sql<Pick<LlmConnection, 'id' | 'provider' | 'baseUrl' | 'hasKey'>[]>`
    select id, provider, base_url, sealed_key is not null as has_key
    from llm_connections order by id limit 1000`
}
