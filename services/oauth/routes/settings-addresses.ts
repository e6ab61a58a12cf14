import { addressProblem as spellingProblem } from '../../shared/outgoing/address.ts'
import { isAllowed } from '../../shared/outgoing/allowed-places.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'

/** What is wrong with a field of a connection, in words that follow its name. */
export interface FieldProblem {
  readonly field: string
  readonly message: string
}

interface Tested {
  readonly test_url?: string | undefined
  readonly hosts: readonly string[]
}

/** Returns what is wrong with an address that the OAuth service is to call, if anything is. */
export function addressProblem(
  field: string,
  address: string | undefined,
  guard: OutgoingGuard,
): FieldProblem[] {
  if (address === undefined) return []
  const message = problemOf(address, guard)
  return message === undefined ? [] : [{ field, message }]
}

function problemOf(address: string, guard: OutgoingGuard): string | undefined {
  const misspelled = spellingProblem(address)
  if (misspelled !== undefined) return misspelled
  const url = new URL(address)
  const problem = guard.problemOf(url)
  if (problem !== undefined) return `cannot be called: ${problem.replace(/\.$/, '')}`
  return url.protocol === 'https:' || guard.isListed(url)
    ? undefined
    : 'must begin with https://: secrets would be readable on their way'
}

/** Returns what is wrong with where a test sends the token, if anything is. */
export function testProblem({ test_url: address, hosts }: Tested): FieldProblem[] {
  if (address === undefined || hosts.length === 0 || spellingProblem(address)) return []
  if (isAllowed(new URL(address), hosts)) return []
  return [{ field: 'test_url', message: 'must be at one of the places that may get the token' }]
}
