import { afterEach } from 'vitest'
import { busyness } from './busyness.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** What the worker of a file has worked for it, its imports included. */
    coreSeconds?: number
  }
}

const before = process.cpuUsage()

/**
 * Notes how much the file has worked so far, and says beside each failure how busy the machine was:
 * a time limit alone does not tell.
 */
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage(before)
  task.file.meta.coreSeconds = (user + system) / 1e6
  if (task.result?.state === 'fail') console.warn(`${task.name}: failed while ${busyness()}`)
})
