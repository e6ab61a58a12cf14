import { MAX_ATTRIBUTES } from '../../../../services/collector/otlp/limits.ts'
import { ALL_COLUMNS } from './attribute-keys.ts'

export const SLOTS = MAX_ATTRIBUTES * 2
export const ABSENT = 255

/**
 * Where the attributes of the span at hand lie in the request. Made once and used for every span.
 */
export interface AttributeIndex {
  count: number
  dropped: number
  /** Keys given more than once; the last one counts. */
  duplicates: number
  /** `keyFrom` is -1 for an attribute whose key came again later. */
  readonly keyFrom: Int32Array
  readonly keyEnd: Int32Array
  readonly valueFrom: Int32Array
  readonly valueEnd: Int32Array
  /**
   * By hash of the key: `base` + the attribute's place. Lower values are left over from earlier
   * spans.
   */
  readonly slots: Int32Array
  base: number
  /** For each promoted column the best key seen (0 is best), and where its value lies. */
  readonly rank: Uint8Array
  readonly promotedFrom: Int32Array
  readonly promotedEnd: Int32Array
  /** 1 when the value is a string of JSON. */
  readonly isJson: Uint8Array
  /** Numbers from documents; NaN where the value lies in the request, or is none. */
  readonly numbers: Float64Array
  /** By column: a text from elsewhere. */
  readonly texts: Map<number, string>
}

export function createAttributeIndex(): AttributeIndex {
  return {
    count: 0,
    dropped: 0,
    duplicates: 0,
    keyFrom: new Int32Array(MAX_ATTRIBUTES),
    keyEnd: new Int32Array(MAX_ATTRIBUTES),
    valueFrom: new Int32Array(MAX_ATTRIBUTES),
    valueEnd: new Int32Array(MAX_ATTRIBUTES),
    slots: new Int32Array(SLOTS),
    base: MAX_ATTRIBUTES,
    rank: new Uint8Array(ALL_COLUMNS).fill(ABSENT),
    promotedFrom: new Int32Array(ALL_COLUMNS),
    promotedEnd: new Int32Array(ALL_COLUMNS),
    isJson: new Uint8Array(ALL_COLUMNS),
    numbers: new Float64Array(ALL_COLUMNS),
    texts: new Map(),
  }
}

export const isPromoted = (index: AttributeIndex, column: number): boolean =>
  index.rank[column] !== ABSENT
