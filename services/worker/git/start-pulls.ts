import type * as v from 'valibot'
import { putBackPull, takeRepository } from '../../platform/crews/source-repositories.ts'
import { createRepositorySeals } from '../../platform/crews/source-repository-seals.ts'
import type { EnvSource } from '../../shared/env.ts'
import type { Log } from '../../shared/log.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import type { ProxyConfig } from '../../shared/outgoing/forward-proxy.ts'
import { createGitGuard } from '../../shared/outgoing/guards.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'
import type { workerEnv } from '../env.ts'
import { startLoop } from '../run/loop.ts'
import { pullRepository } from './pull-repository.ts'

/** Each takes room on the disk. */
const CONCURRENCY = 1
const PROGRAMS = '/usr/local/bin:/usr/bin:/bin'

interface Pulls {
  readonly config: Pick<
    v.InferOutput<typeof workerEnv>,
    'CREW_STORAGE_MAX' | 'GIT_PRIVATE_ORIGINS' | 'SECRET_KEY_BASE' | 'SECRET_KEY_BASE_PREVIOUS'
  > &
    ProxyConfig
  readonly source: EnvSource
  readonly sql: Database
  readonly log: Log
}

/** Pulls the repositories of automations as soon as somebody asks for it. */
export function startPulls({ config, source, sql, log }: Pulls) {
  const deps = {
    sql,
    log,
    quotaBytes: config.CREW_STORAGE_MAX,
    seals: createRepositorySeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS),
    guard: createGitGuard(config.GIT_PRIVATE_ORIGINS, createForwardProxy(config)),
    programs: {
      path: source['PATH'] ?? PROGRAMS,
      extraAuthoritiesPath: source['NODE_EXTRA_CA_CERTS'],
    },
  }
  const loop = startLoop({
    async take() {
      const taken = await takeRepository(sql)
      return taken ? [taken] : []
    },
    run: (taken, { pause }) => pullRepository(deps, taken, pause),
    putBack: (taken) => putBackPull(sql, taken),
    concurrency: CONCURRENCY,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'source_pull', hear: wake, onOpen: wake, log })
  return {
    wake,
    async stop(): Promise<void> {
      stopListening()
      await loop.stop(0)
    },
  }
}
