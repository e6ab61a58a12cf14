import * as v from 'valibot'

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** What begins a dump. */
export const beginning = v.object({
  note: v.literal('database'),
  format: v.literal(1),
  serverVersion: v.string(),
  takenAt: v.string(),
  applied: v.array(v.object({ version: count, name: v.string(), checksum: v.string() })),
})

/** What comes before the rows of a table. */
const tableNote = v.object({
  note: v.literal('table'),
  name: v.string(),
  /** Those that have values of their own: no generated ones. */
  columns: v.array(v.object({ name: v.string(), type: v.string(), isRequired: v.boolean() })),
  /** Of a partition. */
  parent: v.nullable(v.string()),
  /** `FOR VALUES …` */
  bound: v.nullable(v.string()),
})

/** What comes behind them. */
const tableEnd = v.object({ note: v.literal('rows'), count, sha256: v.string() })

/** The numbers that come next. */
const sequenceNote = v.object({
  note: v.literal('sequence'),
  name: v.string(),
  value: v.string(),
  isCalled: v.boolean(),
})

/** What ends a dump. */
export const ending = v.object({
  note: v.literal('end'),
  tables: count,
  rows: count,
  /** Columns, constraints, indexes, triggers and policies, a line each. */
  structure: v.array(v.string()),
})

/** Any of them. */
export const dumpNote = v.variant('note', [beginning, tableNote, tableEnd, sequenceNote, ending])

/** What a dump says of the database. */
export type Beginning = v.InferOutput<typeof beginning>
/** What a dump says of a table. */
export type TableNote = v.InferOutput<typeof tableNote>
/** What a dump says of the rows of a table. */
export type TableEnd = v.InferOutput<typeof tableEnd>
/** What a dump says of a sequence. */
export type SequenceNote = v.InferOutput<typeof sequenceNote>
/** What a dump says of itself. */
export type Ending = v.InferOutput<typeof ending>
/** Any part of a dump but rows. */
export type DumpNote = v.InferOutput<typeof dumpNote>
