import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Alone, Connected } from './alone.ts'

const PROGRAM = fileURLToPath(new URL('./alone.ts', import.meta.url))
const NAMESPACE = ['-rn', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"']

/** Whether a process can be started without a network. */
export const canIsolate =
  spawnSync('unshare', [...NAMESPACE, 'true'], { timeout: 10_000 }).status === 0
if (!canIsolate) {
  console.log('replays are not tried without a network: this needs unshare, ip and their rights')
}

/**
 * Opens a way to a database by the file system, as no other network is reached from a namespace
 * without interfaces.
 */
export async function openBridge(databaseUrl: string) {
  const path = join(await mkdtemp(join(tmpdir(), 'bridge-')), 'database')
  const server = createServer((near) => {
    const { host, port } = parseAddress(databaseUrl)
    const far = connect({ host, port })
    near.pipe(far).pipe(near)
    for (const each of [near, far]) each.on('error', () => [near, far].map((s) => s.destroy()))
  })
  server.listen(path)
  await once(server, 'listening')
  return { path, close: () => void server.close() }
}

/** Starts a worker and a crew in a process of their own, without a network if it is told so. */
export async function startAlone(told: Alone, isIsolated: boolean) {
  const args = ['--import', 'tsx', PROGRAM]
  const [program, all] = isIsolated
    ? ['unshare', [...NAMESPACE, process.execPath, ...args]]
    : [process.execPath, args]
  const child = spawn(program, all, {
    env: { PATH: process.env['PATH'], ALONE: JSON.stringify(told) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value: first } = await lines.next()
  if (first !== 'ready') throw new Error(`it said ${String(first)}`)
  return {
    child,
    end: async (): Promise<Connected> => {
      child.stdin.end()
      const { value } = await lines.next()
      return JSON.parse(String(value)) as Connected
    },
  }
}
