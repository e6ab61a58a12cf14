import { createHash } from 'node:crypto'

/** Consecutive leaves. */
interface Span {
  readonly begin: number
  readonly size: number
}

/** A complete subtree: of 2^level leaves, from position × 2^level on. */
export interface NodeId {
  readonly level: number
  readonly position: number
}

/** A complete subtree and its hash. */
export interface TreeNode extends NodeId {
  readonly hash: Buffer
}

/** Returns the SHA-256 of some bytes or of a text. */
export const sha256 = (...parts: readonly (Buffer | string)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** Returns the hash of a leaf (RFC 9162 §2.1.1). */
export const hashLeaf = (content: Buffer | string): Buffer => sha256(Buffer.of(0), content)

const hashPair = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.of(1), left, right)

/** Returns the largest power of two below a size from 2 on. */
function splitAt(size: number): number {
  let half = 1
  while (half * 2 < size) half *= 2
  return half
}

/** Lists the complete subtrees that a span is made of, from the left. */
export function nodesOf({ begin, size }: Span): NodeId[] {
  const nodes: NodeId[] = []
  for (let at = begin, left = size; left > 0;) {
    const width = splitAt(left + 1)
    nodes.push({ level: Math.log2(width), position: at / width })
    at += width
    left -= width
  }
  return nodes
}

/** Returns the hash of the leaves below complete subtrees, which are in order from the left. */
export function foldNodes(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 0) return sha256()
  return hashes.reduceRight((right, left) => hashPair(left, right))
}

/**
 * Adds leaves to a tree of which the complete subtrees are given, as `nodesOf` lists them. Returns
 * the new ones.
 */
export function growTree(edge: readonly TreeNode[], leaves: readonly Buffer[]): TreeNode[] {
  const open = [...edge]
  const added: TreeNode[] = []
  let size = edge.reduce((sum, { level }) => sum + 2 ** level, 0)
  for (const hash of leaves) {
    let node: TreeNode = { level: 0, position: size, hash }
    added.push(node)
    while (node.position % 2 === 1) {
      const left = open.pop()
      if (!left) throw new Error('the tree has no left sibling')
      const [level, position] = [node.level + 1, (node.position - 1) / 2]
      node = { level, position, hash: hashPair(left.hash, node.hash) }
      added.push(node)
    }
    open.push(node)
    size += 1
  }
  return added
}

/** Lists the spans whose hashes prove that a leaf is in a tree (RFC 9162 §2.1.3.1). */
export function inclusionSpans(index: number, treeSize: number): Span[] {
  const spans: Span[] = []
  for (let begin = 0, size = treeSize; size > 1;) {
    const half = splitAt(size)
    const isLeft = index < begin + half
    spans.push(isLeft ? { begin: begin + half, size: size - half } : { begin, size: half })
    begin += isLeft ? 0 : half
    size = isLeft ? half : size - half
  }
  return spans.toReversed()
}

/** Lists the spans whose hashes prove that a tree begins with another (RFC 9162 §2.1.4.1). */
export function consistencySpans(formerSize: number, treeSize: number): Span[] {
  const spans: Span[] = []
  let [begin, former, size] = [0, formerSize, treeSize]
  while (former < size) {
    const half = splitAt(size)
    if (former <= half) {
      spans.push({ begin: begin + half, size: size - half })
      size = half
    } else {
      spans.push({ begin, size: half })
      begin += half
      former -= half
      size -= half
    }
  }
  return (begin === 0 ? spans : [...spans, { begin, size }]).toReversed()
}

const isOdd = (number: number): boolean => number % 2 === 1
const parentOf = (position: number): number => Math.floor(position / 2)

/**
 * Says of each hash of a proof whether it is on the left, on the way from a node up to the root;
 * undefined when the proof is too short or too long for the tree.
 */
function sidesOf(node: { at: number; last: number }, hashes: number): boolean[] | undefined {
  let { at, last } = node
  const sides: boolean[] = []
  while (sides.length < hashes) {
    if (last === 0) return undefined
    const isLeft = isOdd(at) || at === last
    sides.push(isLeft)
    while (isLeft && !isOdd(at) && at !== 0) [at, last] = [parentOf(at), parentOf(last)]
    ;[at, last] = [parentOf(at), parentOf(last)]
  }
  return last === 0 ? sides : undefined
}

/** Returns the root that an inclusion proof leads to (RFC 9162 §2.1.3.2), if it leads to one. */
export function rootOfInclusion(
  { index, size }: { readonly index: number; readonly size: number },
  leaf: Buffer,
  proof: readonly Buffer[],
): Buffer | undefined {
  const sides = index < size ? sidesOf({ at: index, last: size - 1 }, proof.length) : undefined
  if (!sides) return undefined
  return climb(leaf, proof, sides)
}

const climb = (from: Buffer, proof: readonly Buffer[], sides: readonly boolean[]): Buffer =>
  proof.reduce(
    (root, hash, place) => (sides[place] ? hashPair(hash, root) : hashPair(root, hash)),
    from,
  )

/** The size and the root of a tree. */
export interface Tree {
  readonly size: number
  readonly root: Buffer
}

/** Returns true when a proof shows that a tree begins with another (RFC 9162 §2.1.4.2). */
export function isConsistent(former: Tree, tree: Tree, given: readonly Buffer[]): boolean {
  if (former.size > tree.size || former.size === 0) return false
  if (former.size === tree.size) return given.length === 0 && former.root.equals(tree.root)
  const isPower = Number.isInteger(Math.log2(former.size))
  const [first, ...proof] = isPower ? [former.root, ...given] : given
  let [at, last] = [former.size - 1, tree.size - 1]
  while (isOdd(at)) [at, last] = [parentOf(at), parentOf(last)]
  const sides = sidesOf({ at, last }, proof.length)
  if (!first || !sides) return false
  const before = proof.filter((_, place) => sides[place]).reduce((a, b) => hashPair(b, a), first)
  return before.equals(former.root) && climb(first, proof, sides).equals(tree.root)
}
