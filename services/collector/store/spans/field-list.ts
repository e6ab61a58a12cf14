import type { RowReader } from './row-reader.ts'

/** Different texts, which lie in one buffer, sorted by their bytes. */
export interface FieldList {
  clear(): void
  add(begin: number, size: number): void
  /** How many there are; of more than there is room for, the last ones are left out. */
  count(): number
  begin(nr: number): number
  size(nr: number): number
}

/** A list with room for so many texts of the rows that the reader has. */
export function createFieldList(reader: Pick<RowReader, 'bytes'>, room: number): FieldList {
  const begins = new Uint32Array(room)
  const sizes = new Int32Array(room)
  let count = 0
  /** Less than 0 where a text comes before that at the place. */
  const compareTo = (place: number, begin: number, size: number): number => {
    const bytes = reader.bytes()
    const [other, otherSize] = [begins[place] ?? 0, sizes[place] ?? 0]
    const shorter = Math.min(size, otherSize)
    for (let at = 0; at < shorter; at++) {
      const difference = (bytes[begin + at] ?? 0) - (bytes[other + at] ?? 0)
      if (difference !== 0) return difference
    }
    return size - otherSize
  }
  return {
    clear: () => void (count = 0),
    add(begin, size) {
      let place = 0
      for (; place < count; place++) {
        const order = compareTo(place, begin, size)
        if (order === 0) return
        if (order < 0) break
      }
      if (place === room) return
      if (count < room) count++
      // They are few: a call of the runtime takes longer.
      for (let last = count - 1; last > place; last--) {
        begins[last] = begins[last - 1] ?? 0
        sizes[last] = sizes[last - 1] ?? 0
      }
      begins[place] = begin
      sizes[place] = size
    },
    count: () => count,
    begin: (nr) => begins[nr] ?? 0,
    size: (nr) => sizes[nr] ?? 0,
  }
}
