import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { attempt } from './command.ts'
import { network, places } from './places.ts'
import { endOfLog, runningPid, startProcess, stopProcess } from './processes.ts'
import { words } from './words.ts'

const KEEPER = 'namespaces'
/** Directories outside of the bed that were made to mount its own over them. */
const madeOutside = join(places.state, 'made-outside')
const ready = join(places.state, 'namespaces.ready')

/** Makes the network and the mount namespace in which everything of the bed runs. */
export async function makeNamespaces(): Promise<void> {
  if (runningPid(KEEPER) !== undefined) return
  rmSync(ready, { force: true })
  const script = join(import.meta.dirname, 'namespaces.sh')
  startProcess(
    KEEPER,
    words`unshare --mount --net --propagation private sh ${script}
      ${places.state} ${network.nodeAddress} ${network.services}`,
  )
  for (let i = 0; i < 100 && !existsSync(ready); i += 1) await delay(100)
  if (!existsSync(ready)) throw new Error(`no namespaces for the bed: ${endOfLog(KEEPER)}`)
}

/** A command line that runs inside the bed. Raises when the bed is down. */
export function inside(words: readonly string[]): readonly string[] {
  const keeper = runningPid(KEEPER)
  if (keeper === undefined) throw new Error('the bed is down; bring it up with --keep --only none')
  return ['nsenter', '--target', String(keeper), '--mount', '--net', '--', ...words]
}

export const isUp = (): boolean => runningPid(KEEPER) !== undefined

/** Ends the namespaces, and removes the empty directories that they were mounted on. */
export async function removeNamespaces(): Promise<void> {
  await stopProcess(KEEPER)
  if (!existsSync(madeOutside)) return
  for (const path of readFileSync(madeOutside, 'utf8').split('\n').filter(Boolean))
    await attempt(words`rmdir --parents --ignore-fail-on-non-empty ${path}`)
  rmSync(madeOutside)
}
