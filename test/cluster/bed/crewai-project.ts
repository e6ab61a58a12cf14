import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildToolPackage, createCrewaiProject } from '../../support/crewai-project.ts'
import { uvPackage } from './base-images.ts'
import { command } from './command.ts'
import { fingerprintOf, isDone, unlessDone } from './fingerprint.ts'
import { places, repository } from './places.ts'
import { words } from './words.ts'

const TWINE = 'twine==6.2.0'
const PATIENCE_MS = 20 * 60_000

const tools = join(places.crewai, 'tools')
const record = join(places.crewai, 'made-from')
const fingerprint = fingerprintOf(
  repository,
  ['test/support/crewai-project.ts'],
  [TWINE, uvPackage()],
)

/** A project as `crewai create crew` makes it, and the wheel of its tool. */
export const crewaiProject = {
  directory: join(places.crewai, 'demo'),
  wheels: join(places.crewai, 'dist'),
} as const

/** twine, as somebody runs it who uploads a package. */
export const twine = {
  program: join(tools, 'bin/twine'),
  env: { PYTHONPATH: tools },
} as const

export const hasCrewaiProject = (): boolean => isDone(record, fingerprint)

/** Makes the project, and fetches twine, while there is a way out; nothing when they are there. */
export const makeCrewaiProject = (progress: (text: string) => void): Promise<void> =>
  unlessDone(record, fingerprint, async () => {
    progress('making a project with crewai create, and the package of its tool')
    await rm(places.crewai, { recursive: true, force: true })
    await mkdir(places.crewai, { recursive: true })
    const install = words`python3 -m pip install --quiet --target ${tools} ${uvPackage()} ${TWINE}`
    await command(install, { timeoutMs: PATIENCE_MS })
    const env = { PATH: `${join(tools, 'bin')}:${process.env['PATH'] ?? ''}` }
    const run = (commands: string): Promise<string> =>
      command(['bash', '-e', '-c', commands], {
        cwd: places.crewai,
        env,
        timeoutMs: PATIENCE_MS,
      })
    await buildToolPackage(places.crewai, run)
    await createCrewaiProject(places.crewai, run)
  })
