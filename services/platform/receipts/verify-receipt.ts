import { canonicalJson } from '../../shared/canonical-json.ts'
import { isSignedWith } from '../../shared/signed-documents.ts'
import { hashLeaf, isConsistent, rootOfInclusion } from './merkle-tree.ts'
import type { Tree } from './merkle-tree.ts'
import { keyId, saltedHash } from './receipt-documents.ts'
import type { Consistency, Receipt, SignedHead, StatedKey, TreeHead } from './receipt-documents.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'hex')
const treeOf = ({ size, root }: TreeHead): Tree => ({ size, root: bytes(root) })

/** Lists the keys that trusted ones vouch for, and those; undefined for a broken chain. */
function trustedKeys(keys: readonly StatedKey[], trusted: readonly string[]) {
  const found = [...trusted]
  for (const { statement, signature } of keys) {
    const { key, previous } = statement
    if (previous === null || signature === null) return undefined
    if (!isSignedWith(statement, signature, previous)) return undefined
    if (found.includes(previous)) found.push(key)
  }
  return found
}

/** Says why a head is not signed by a key that is trusted; undefined when it is. */
function problemOfHead({ head, signature }: SignedHead, keys: readonly string[]) {
  const key = keys.find((each) => keyId(each) === head.key)
  if (key === undefined) {
    return `the head of size ${head.size} is signed with a key that yours does not vouch for`
  }
  return isSignedWith(head, signature, key)
    ? undefined
    : `the signature of the head of size ${head.size} is not valid`
}

/**
 * Lists what is wrong with a receipt; nothing when its leaf is in the tree of its head, and that is
 * signed by a trusted key (SubjectPublicKeyInfo in hexadecimal digits), or by one that follows one.
 */
export function checkReceipt(receipt: Receipt, trusted: readonly string[]): string[] {
  const { leaf, index, proof, head, signature, opened } = receipt
  const keys = trustedKeys(receipt.keys, trusted)
  if (!keys || receipt.keys.some(({ statement }) => statement.log !== head.log)) {
    return ['a key is not signed by the one before it']
  }
  const problems = [problemOfHead({ head, signature }, keys)]
  const place = { index, size: head.size }
  const root = rootOfInclusion(place, hashLeaf(canonicalJson(leaf)), proof.map(bytes))
  if (!root?.equals(bytes(head.root))) problems.push('the leaf is not in the tree of its head')
  if (opened) problems.push(...problemsOfOpened(leaf, opened))
  return problems.filter((problem) => problem !== undefined)
}

const OPENED = {
  starter: 'who started the run',
  actor: 'who acted',
  facts: 'what the entry says',
} as const

/** Each of a leaf's kind has to be there: the salt alone would show nothing. */
function problemsOfOpened(
  leaf: Receipt['leaf'],
  { salt, ...opened }: NonNullable<Receipt['opened']>,
): string[] {
  const names = leaf.kind === 'audit' ? (['actor', 'facts'] as const) : (['starter'] as const)
  const wrong = names.filter((name) => saltedHash(bytes(salt), name, opened[name]) !== leaf[name])
  const others = Object.keys(opened).filter((name) => !names.some((each) => each === name))
  return [
    ...wrong.map((name) => `${OPENED[name]} is not what the leaf says, or the salt is another one`),
    ...others.map((name) => `${name} is in no leaf of this kind`),
  ]
}

/** Lists what is wrong with the proof that a head continues another. */
export function checkConsistency(given: Consistency, trusted: readonly string[]): string[] {
  const { first, second, proof } = given
  const keys = trustedKeys(given.keys, trusted)
  const isOfOneLog = [second.head, ...given.keys.map(({ statement }) => statement)].every(
    ({ log }) => log === first.head.log,
  )
  if (!keys || !isOfOneLog) return ['a key is not signed by the one before it, or the logs differ']
  const problems = [problemOfHead(first, keys), problemOfHead(second, keys)]
  if (!isConsistent(treeOf(first.head), treeOf(second.head), proof.map(bytes))) {
    const sizes = `${first.head.size} and ${second.head.size}`
    problems.push(`the heads of sizes ${sizes} do not continue each other: the log was changed`)
  }
  return problems.filter((problem) => problem !== undefined)
}
