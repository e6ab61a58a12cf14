/** For crews whose automation names no limit. */
const DEFAULT = '2Gi'
const QUANTITY = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?$/
const FACTORS = new Map([
  ['k', 1000],
  ['M', 1000 ** 2],
  ['G', 1000 ** 3],
  ['T', 1000 ** 4],
  ['Ki', 1024],
  ['Mi', 1024 ** 2],
  ['Gi', 1024 ** 3],
  ['Ti', 1024 ** 4],
])

/** The most memory of a crew. */
export interface MemoryLimit {
  /** As it was set, such as `2Gi`. */
  readonly text: string
  readonly bytes: number
}

/** Reads a quantity of Kubernetes; undefined when it is none. */
export function readMemoryLimit(quantity: string | null): MemoryLimit | undefined {
  const text = quantity ?? DEFAULT
  const [, number, unit = ''] = QUANTITY.exec(text) ?? []
  if (number === undefined) return undefined
  return { text, bytes: Math.floor(Number(number) * (FACTORS.get(unit) ?? 1)) }
}
