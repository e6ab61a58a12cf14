import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { addressUrl } from './address-url.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

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

async function asAdmin(url: string, statement: string): Promise<void> {
  const admin = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} })
  await admin.unsafe(statement)
  await admin.end()
}
