import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  consistencySpans,
  foldNodes,
  growTree,
  hashLeaf,
  inclusionSpans,
  isConsistent,
  nodesOf,
  rootOfInclusion,
} from '../../../../services/platform/receipts/merkle-tree.ts'
import { isLong } from '../../../support/long.ts'

/** A tree that grows by some leaves at a time, as it is stored. */
function plant(leaves: readonly Buffer[], step = leaves.length || 1) {
  const nodes = new Map<string, Buffer>()
  const find = (span: Parameters<typeof nodesOf>[0]) =>
    nodesOf(span).map(({ level, position }) => {
      const hash = nodes.get(`${level}/${position}`)
      if (!hash) throw new Error(`no node ${level}/${position}`)
      return { level, position, hash }
    })
  for (let size = 0; size < leaves.length; size += step) {
    const added = growTree(find({ begin: 0, size }), leaves.slice(size, size + step).map(hashLeaf))
    for (const { level, position, hash } of added) nodes.set(`${level}/${position}`, hash)
  }
  const hashOf = (span: Parameters<typeof nodesOf>[0]) =>
    foldNodes(find(span).map(({ hash }) => hash))
  return { nodes, hashOf, root: (size: number) => hashOf({ begin: 0, size }) }
}

/** The inputs and the roots of the tests of Certificate Transparency, for sizes from 0. */
const INPUTS = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

const anyLeaves = fc.array(
  fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
  { minLength: 1, maxLength: 40 },
)

type Edit = (leaves: readonly Buffer[], at: number, other: number) => Buffer[]
const EDITS: Readonly<Record<string, Edit>> = {
  'a flipped bit': (leaves, at, other) => {
    const leaf = leaves[at] ?? Buffer.alloc(0)
    const flipped = Buffer.from(leaf)
    if (leaf.length > 0) flipped[other % leaf.length] = (leaf[other % leaf.length] ?? 0) ^ 1
    return leaves.with(at, leaf.length === 0 ? Buffer.of(0) : flipped)
  },
  'a removed leaf': (leaves, at) => leaves.toSpliced(at, 1),
  'a leaf that is dated back': (leaves, at) => leaves.toSpliced(at, 0, Buffer.from('later')),
  'reordered leaves': (leaves, at, other) => {
    const [one, two] = [leaves[at], leaves[other % leaves.length]]
    return one && two ? leaves.with(at, two).with(other % leaves.length, one) : [...leaves]
  },
  'a truncated log': (leaves, at) => leaves.slice(0, at),
}

describe('the Merkle tree of receipts', () => {
  it('has the roots that Certificate Transparency has for its inputs', () => {
    const tree = plant(INPUTS.map((input) => Buffer.from(input, 'hex')))
    expect(ROOTS.map((_, size) => tree.root(size).toString('hex'))).toEqual(ROOTS)
  })

  it('proves each leaf in each tree and each former tree, and nothing else', () => {
    const leaves = Array.from({ length: 20 }, (_, index) => Buffer.from(`leaf ${index}`))
    const tree = plant(leaves, 3)
    for (let size = 1; size <= leaves.length; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const proof = inclusionSpans(index, size).map(tree.hashOf)
        const rootFrom = (at: number, leaf: Buffer) =>
          rootOfInclusion({ index: at, size }, hashLeaf(leaf), proof)
        expect(rootFrom(index, Buffer.from(`leaf ${index}`))).toEqual(tree.root(size))
        expect(rootFrom(index, Buffer.from('other'))).not.toEqual(tree.root(size))
        if (size > 1) {
          const elsewhere = rootFrom((index + 1) % size, Buffer.from(`leaf ${index}`))
          expect(elsewhere).not.toEqual(tree.root(size))
        }
        const former = { size: index + 1, root: tree.root(index + 1) }
        const growth = consistencySpans(index + 1, size).map(tree.hashOf)
        expect(isConsistent(former, { size, root: tree.root(size) }, growth)).toBe(true)
      }
    }
  })

  it('finds each edit of what a kept head covers, and no fault in what is appended', () => {
    const anyEdit = fc.constantFrom(...Object.values(EDITS))
    fc.assert(
      fc.property(
        fc.tuple(anyLeaves, anyLeaves),
        fc.tuple(fc.nat(1000), fc.nat(1000), anyEdit),
        ([leaves, later], [place, other, edit]) => {
          const honest = plant(leaves, 1 + (other % 5))
          const kept = { size: leaves.length, root: honest.root(leaves.length) }
          const follows = (log: readonly Buffer[]) => {
            const tree = plant(log)
            if (log.length < kept.size) return false
            const proof = consistencySpans(kept.size, log.length).map(tree.hashOf)
            return isConsistent(kept, { size: log.length, root: tree.root(log.length) }, proof)
          }
          const at = place % leaves.length
          const edited = edit(leaves, at, other)
          const isSame = leaves.every((leaf, index) => edited[index]?.equals(leaf))
          expect(follows([...leaves, ...later])).toBe(true)
          // What is appended to a log that was cut may be what was cut.
          const log = edited.length < leaves.length ? edited : [...edited, ...later]
          expect(follows(log)).toBe(isSame)
        },
      ),
      { numRuns: isLong ? 10_000 : 100 },
    )
  })
})
