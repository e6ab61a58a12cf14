/** A column of `spans` that is filled from attributes. */
export interface PromotedColumn {
  readonly column: string
  /** A whole number from 0 on, a number from 0 on, or a short text; others leave it null. */
  readonly kind: 'count' | 'number' | 'text'
  /**
   * Where its value is looked for. The first that a span has wins, whatever the later ones say, and
   * also when its value is none that the column can hold: then the column is null.
   */
  readonly keys: readonly Source[]
}

/** The name of an attribute, or a part of one. */
export type Source = string | JsonText | JsonSum | JsonMember

/** An attribute whose text is a string of JSON, with the quotes. */
interface JsonText {
  readonly json: string
}

/**
 * A member of an attribute whose text is a JSON object, a dot leading into an object, and with it
 * those of the others that are there.
 */
export interface JsonSum extends JsonText {
  readonly member: string
  readonly plus: readonly string[]
}

/** A member of an attribute whose text is a JSON object, which is a short text. */
interface JsonMember extends JsonText {
  readonly text: string
}
