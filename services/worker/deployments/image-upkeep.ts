import { noteGarbage, takeGarbage } from '../../platform/crews/crew-images.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { startRetention } from '../retention.ts'
import type { CrewHost } from './crew-host.ts'

interface ImageUpkeep {
  readonly sql: Database
  readonly host: Pick<CrewHost, 'freeImages'>
  readonly log: Log
}

/** Frees the room of deleted images when it is due and no crew is built. Returns how often. */
export async function freeImages({ sql, host }: Omit<ImageUpkeep, 'log'>): Promise<number> {
  if (!(await takeGarbage(sql))) return 0
  try {
    await host.freeImages()
    return 1
  } catch (thrown) {
    await noteGarbage(sql)
    throw thrown
  }
}

/** Frees the room of deleted images, once an hour if it is due. */
export const startImageUpkeep = (upkeep: ImageUpkeep): { stop(): Promise<void> } =>
  startRetention({
    of: 'crew images',
    expire: () => freeImages(upkeep),
    onDeleted: () => {},
    log: upkeep.log,
  })
