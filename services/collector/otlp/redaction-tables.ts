import type { Tables } from './redaction/tables.ts'

interface Place {
  readonly value: number
}

/** The module's tables of what it redacts. */
export interface RedactionTables {
  /** Begins to redact what the first `count` entries say. */
  setRedaction(count: number): void
  readonly fingerprints: Place
  readonly pairs: Place
  readonly entries: Place
  readonly entryItems: Place
  readonly classes: Place
}

/** Fills the module's tables; `bytes` are its memory. */
export function addRedaction(module: RedactionTables, bytes: Buffer, tables: Tables): void {
  bytes.set(tables.fingerprints, module.fingerprints.value)
  bytes.set(tables.pairs, module.pairs.value)
  bytes.set(tables.entries, module.entries.value)
  bytes.set(tables.entryItems, module.entryItems.value)
  bytes.set(tables.classes, module.classes.value)
  module.setRedaction(tables.count)
}
