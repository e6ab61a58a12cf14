import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf, keyId } from '../platform/receipts/receipt-documents.ts'
import type { SignedHead } from '../platform/receipts/receipt-documents.ts'
import { isSignedWith } from '../shared/signed-documents.ts'
import { findHead, parseJson, readFile } from './receipt-files.ts'
import type { Output } from './resources/apply-files.ts'

/** A head, and where it was found. */
interface Found extends SignedHead {
  readonly at: string
}

const FORKED = 2
const GAPS = 3

/**
 * Compares the signed heads of several places, prints what was found, and returns the exit code.
 * Two heads of one size, or two that follow the same one, are of two logs.
 */
export function compareHeads(
  places: readonly string[],
  keys: readonly string[],
  output: Output,
): number {
  const problems: string[] = []
  const found = places.flatMap((place) => {
    const heads = listFiles(place).flatMap((file) => readHeads(file, problems))
    if (heads.length === 0) problems.push(`${place} has no signed head`)
    return heads
  })
  problems.push(...found.flatMap((each) => checkSignature(each, keys)), ...findForks(found))
  if (problems.length > 0) {
    output.problem(problems.map((problem) => `It does not hold: ${problem}.\n`).join(''))
    return FORKED
  }
  const gaps = countGaps(found)
  const count = new Set(found.map(({ head }) => digestOf(head))).size
  const largest = Math.max(...found.map(({ head }) => head.size))
  if (gaps === 0) {
    output.result(`The ${count} heads of ${places.length} places are of one log of ${largest}.\n`)
    return 0
  }
  output.problem(
    `No fork was found in ${count} heads, and ${gaps} of them follow a head that no place has. ` +
      'Ask the API for the heads between them, or for a proof of consistency.\n',
  )
  return GAPS
}

function listFiles(place: string): readonly string[] {
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) return [place]
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(place, name))
}

/** Reads the head of a file, or those among the lines of a log. */
function readHeads(at: string, problems: string[]): Found[] {
  const text = readFile(at)
  const isOne = parseJson(text) !== undefined
  const heads = (isOne ? [text] : text.split('\n')).flatMap((part) => findHead(part) ?? [])
  if (isOne && heads.length === 0) problems.push(`${at} is not a signed head`)
  return heads.map((head) => ({ ...head, at }))
}

function checkSignature({ head, signature, at }: Found, keys: readonly string[]): string[] {
  const key = keys.find((each) => keyId(each) === head.key)
  if (key === undefined) return [`the head of size ${head.size} in ${at} is signed by another key`]
  return isSignedWith(head, signature, key)
    ? []
    : [`the head of size ${head.size} in ${at} was changed`]
}

function findForks(found: readonly Found[]): string[] {
  const first = new Map<string, Found>()
  return found.flatMap((each) => {
    const { log, size, previous } = each.head
    return [
      [`${log} ${size}`, `are both of size ${size}`],
      [`${log} after ${previous}`, `both follow ${previous ?? 'no other'}`],
    ].flatMap(([key = '', why]) => {
      const other = first.get(key) ?? each
      first.set(key, other)
      const isSame = digestOf(other.head) === digestOf(each.head)
      return isSame ? [] : [`the heads in ${other.at} and in ${each.at} differ, and ${why}`]
    })
  })
}

/** Counts the heads that follow one that no place has, but for the first of a log. */
function countGaps(found: readonly Found[]): number {
  const known = new Set(found.map(({ head }) => digestOf(head)))
  const begins = new Map(
    found
      .filter(({ head }) => head.previous === null || !known.has(head.previous))
      .map(({ head }) => [digestOf(head), head.log]),
  )
  return begins.size - new Set(begins.values()).size
}
