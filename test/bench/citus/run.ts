import { compareIngest, compareReads } from './compare.ts'
import { measureOperation } from './operation.ts'
import { openCitus, openPlain, withCollector } from './stage.ts'

/**
 * Measures a trace database on Citus against a plain one on the same server, and what happens to
 * senders while a node is added and while a day is dropped. Names one of `compare` and `operation`,
 * or none for both.
 */
export async function run(part?: string): Promise<void> {
  await withCollector(async (main) => {
    if (part !== 'operation') {
      const plain = await openPlain(main)
      const citus = await openCitus(main)
      try {
        await compareIngest({ plain, citus })
        await compareReads({ plain, citus })
      } finally {
        await Promise.all([plain.close(), citus.close()])
      }
    }
    if (part !== 'compare') await measureOperation(main)
  })
}
