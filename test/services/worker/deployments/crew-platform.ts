import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publishCrewRuntime } from '../../../../services/platform/crews/crew-runtime-package.ts'
import { ensurePublicToolRepository } from '../../../../services/platform/tools/tools.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { machineVariables } from '../../../../services/shared/machine-variables.ts'
import { start as startWeb } from '../../../../services/web/start.ts'
import { environment, openPlatform } from '../../web/support/platform.ts'

export const silent = createLog({ name: 'test', level: 'silent' })

/** A platform with the adapter in its tools index, and a folder for crews. */
export async function openCrewPlatform() {
  const platform = await openPlatform()
  const repositoryId = await ensurePublicToolRepository(platform.sql, 'public')
  await publishCrewRuntime(platform.sql, repositoryId, { version: '1.13.0' })
  const web = await startWeb(environment(platform.url), { log: silent, lingerMs: 0 })
  const root = await mkdtemp(join(tmpdir(), 'crews-'))
  return {
    ...platform,
    webUrl: web.url,
    root,
    /** Nothing of these tests comes from another machine. */
    machine: {
      ...machineVariables(process.env),
      UV_DEFAULT_INDEX: `${web.url}/tools/public/simple/`,
    },
    async close() {
      await web.stop()
      await platform.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}
