import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { CrewOwner } from '../crew-host.ts'
import type { CrewProcess } from './crew-process.ts'

/** The processes of crews, by their deployments. */
export interface ProcessTable {
  readonly find: (id: number) => CrewProcess | undefined
  /** Lets a process run for a deployment; the one that did so drains. */
  put(crew: { readonly id: number; readonly owner: CrewOwner }, process: CrewProcess): void
  /** Ends an automation's processes but for those of some deployments, when they have drained. */
  endOthers(owner: CrewOwner, kept: readonly number[]): Promise<void>
  /** Ends a process that is in no table, or all of them. */
  end(process: CrewProcess, graceMs: number): Promise<void>
  endAll(graceMs: number): Promise<void>
}

/** Creates a table whose processes have `drainMs` to end when others take their places. */
export function createProcessTable(log: Log, drainMs: number): ProcessTable {
  const running = new Map<number, { readonly owner: CrewOwner; readonly process: CrewProcess }>()
  const ending = new Map<CrewProcess, Promise<void>>()

  function end(process: CrewProcess, graceMs: number): Promise<void> {
    const ended = process
      .end(graceMs)
      .catch((thrown: unknown) =>
        log.warn({ reason: toError(thrown).message }, 'a crew keeps running'),
      )
      .finally(() => ending.delete(process))
    ending.set(process, ended)
    return ended
  }

  return {
    find: (id) => running.get(id)?.process,
    put({ id, owner }, process) {
      const former = running.get(id)
      running.set(id, { owner, process })
      if (former) void end(former.process, drainMs)
    },
    async endOthers({ deploymentId }, kept) {
      const others = [...running].filter(
        ([id, { owner }]) => owner.deploymentId === deploymentId && !kept.includes(id),
      )
      for (const [id] of others) running.delete(id)
      await Promise.all(others.map(([, { process }]) => end(process, drainMs)))
    },
    end,
    async endAll(graceMs) {
      const all = [...[...running.values()].map(({ process }) => process), ...ending.keys()]
      running.clear()
      await Promise.all(all.map((process) => end(process, graceMs)))
    },
  }
}
