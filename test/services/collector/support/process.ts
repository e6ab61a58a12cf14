import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../../support/free-port.ts'
import { environment } from './harness.ts'

export interface CollectorProcess {
  readonly child: ChildProcess
  readonly url: string
  readonly grpcUrl: string
  readonly metricsUrl: string
  /** Ends it as the pod's end would, or at once. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

interface SpawnOptions {
  readonly databaseUrl: string
  readonly env?: Readonly<Record<string, string>>
  /** The same port again, for one that takes the place of another. */
  readonly port?: number
  readonly grpcPort?: number
  /** Options of Node, such as `--cpu-prof`. */
  readonly nodeOptions?: readonly string[]
}

/** A collector in a process of its own; resolves when it takes submissions. */
export async function spawnCollector(
  main: string,
  { databaseUrl, env = {}, port, grpcPort, nodeOptions = [] }: SpawnOptions,
): Promise<CollectorProcess> {
  const chosen = port ?? (await freePort())
  const chosenForGrpc = grpcPort ?? (await freePort())
  const metricsPort = await freePort()
  const ports = {
    PORT: String(chosen),
    GRPC_PORT: String(chosenForGrpc),
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: 'error',
  }
  const child = spawn(process.execPath, [...nodeOptions, main], {
    env: { ...environment(databaseUrl), ...ports, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const url = `http://127.0.0.1:${chosen}`
  await untilServing(child, url)
  return {
    child,
    url,
    grpcUrl: `http://127.0.0.1:${chosenForGrpc}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    async kill(signal) {
      if (child.exitCode !== null) return child.exitCode
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
      return child.exitCode
    },
  }
}

async function untilServing(child: ChildProcess, url: string): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const health = await fetch(`${url}/health`).catch(() => undefined)
    if (health?.status === 200) return
    if (child.exitCode !== null) throw new Error(`the collector ended with ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('the collector did not become ready')
}
