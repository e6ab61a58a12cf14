import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { addressUrl } from './address-url.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

/**
 * Connections at the most of what a test file asks its database with: each takes some 15 ms of a
 * core, and as long again until it knows the tables and has planned the statements.
 */
export const POOL_SIZE = 4

/** A database of its own for a test file: empty, or cloned from one that is migrated. */
export async function createDatabase(
  template: 'empty' | 'platform' | 'collector' = 'empty',
): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const database = `test_${randomBytes(6).toString('hex')}`
  const source = template === 'empty' ? 'template1' : `template_${template}`
  // Copies files, which takes half of the time that writing them to the log takes.
  const copied = `template ${source} strategy file_copy`
  await asAdmin(serverUrl, `create database ${database} ${copied}`)
  return {
    url: addressUrl({ ...parseAddress(serverUrl), database }),
    drop: () => asAdmin(serverUrl, `drop database if exists ${database} with (force)`),
  }
}

/** Of this worker's files: a connection takes as much work as half of a database. */
let admin: postgres.Sql | undefined

/** Opens the connection with the first statement; it closes by itself, and opens again. */
async function asAdmin(url: string, statement: string): Promise<void> {
  admin ??= postgres(url, { max: 1, fetch_types: false, idle_timeout: 30, onnotice: () => {} })
  await admin.unsafe(statement)
}
