import { deadline } from '../shared/deadline.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { serve } from '../shared/http/serve.ts'
import type { Service } from '../shared/http/serve.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { createApp } from './app.ts'
import { registryGateEnv } from './env.ts'

const PING_MS = 3000
const DRAIN_MS = 15_000
/** A layer of some gigabytes, over a slow network. */
const UPLOAD_MS = 3_600_000
const BODY_IDLE_MS = 60_000
/** The long time for an upload is for none that drips. */
const BODY_BYTES_MIN = 65_536

/** Starts the gate of the registry. Raises `invalid_configuration`. */
export async function start(source: EnvSource, options: { log?: Log } = {}): Promise<Service> {
  const config = readEnv(registryGateEnv, source)
  const log = options.log ?? createLog({ name: 'registry-gate', level: config.LOG_LEVEL })
  const { REGISTRY_URL: url, REGISTRY_KEY: key } = config
  if (key === undefined) log.warn('REGISTRY_KEY is not set: every request is refused')
  let draining = false
  const app = createApp({ url, key, log, ping: () => ping(url), isDraining: () => draining })
  return serve({
    fetch: app.fetch,
    direct: app.direct,
    port: config.PORT,
    host: config.HOST,
    log,
    drainMs: DRAIN_MS,
    requestTimeoutMs: UPLOAD_MS,
    bodyIdleMs: BODY_IDLE_MS,
    bodyBytesMin: BODY_BYTES_MIN,
    onDrain: () => (draining = true),
  })
}

/** The registry's root needs no sign-in. */
const ping = (url: string): Promise<void> =>
  deadline({ name: 'The registry', timeoutMs: PING_MS }, async (signal) => {
    const answer = await fetch(url, { signal })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`the registry answered ${answer.status}`)
  })
