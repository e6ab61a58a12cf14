import { compareIngest, compareReads } from './compare.ts'
import type { Compared } from './compare.ts'
import { measureOperation } from './operation.ts'
import { openCitus, openPlain, withCollector } from './stage.ts'

type Part = (main: string) => Promise<void>

const inTurns =
  (measure: (compared: Compared) => Promise<void>): Part =>
  async (main) => {
    const plain = await openPlain(main)
    const citus = await openCitus(main)
    try {
      await measure({ plain, citus })
    } finally {
      await Promise.all([plain.close(), citus.close()])
    }
  }

const PARTS: Readonly<Record<string, Part>> = {
  ingest: inTurns(compareIngest),
  reads: inTurns(compareReads),
  operation: measureOperation,
}

/**
 * Measures a trace database on Citus against a plain one on the same server, and what senders see
 * while a node is added and while a day is dropped. Names some of the parts, or none for all.
 */
export async function run(...names: string[]): Promise<void> {
  const chosen = names.length === 0 ? Object.keys(PARTS) : names
  await withCollector(async (main) => {
    for (const name of chosen) {
      const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined
      if (!part) throw new Error(`Parts: ${Object.keys(PARTS).join(', ')}; it is "${name}".`)
      await part(main)
    }
  })
}
