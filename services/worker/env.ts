import * as v from 'valibot'
import { databaseEnv } from '../shared/postgres/address.ts'
import { httpUrl, integer, logLevel, optional, origins, text } from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'
import { proxyEnv } from '../shared/outgoing/forward-proxy.ts'
import { queueLimitEnv } from '../platform/people/organization-limits.ts'
import { crewStorageEnv } from '../platform/crews/crew-limits.ts'
import { oneOf } from '../shared/schemas.ts'
import { clusterCrewsEnv } from './deployments/kubernetes/env.ts'

/** The variables of a worker. */
export const workerEnv = v.object({
  ...databaseEnv,
  /** Serves `/health` and `/metrics`. */
  PORT: v.optional(integer(0, 65_535), '3001'),
  HOST: v.optional(text(), '0.0.0.0'),
  LOG_LEVEL: logLevel,
  PLATFORM_VERSION: text(),
  /** The crews' tokens are derived from it. */
  SECRET_KEY_BASE: text(32),
  /** The previous one, while it is rotated: it still opens what it sealed. */
  SECRET_KEY_BASE_PREVIOUS: optional(text(32)),
  /** The runs that one worker performs at a time. */
  WORKER_CONCURRENCY: v.optional(integer(1, 1000), '10'),
  /** The time in which an unavailable crew is tried again before its run fails. */
  CREW_PATIENCE_SECONDS: v.optional(integer(0, 600), '60'),
  /** The longest time that one run may take. */
  EXECUTION_TIMEOUT_SECONDS: v.optional(integer(1, 86_400), '3600'),
  /**
   * The time for the calls in flight when the worker stops, and for the runs of crews without a
   * journal, before another worker takes the runs over.
   */
  WORKER_DRAIN_SECONDS: v.optional(integer(0, 86_400), '300'),
  /** The time for which runs are kept after their end, with their progress. */
  RUNS_RETENTION_DAYS: v.optional(integer(1, 36_500), '90'),
  ...queueLimitEnv,
  /** The time for which the audit is kept. */
  AUDIT_RETENTION_DAYS: v.optional(integer(30, 36_500), '365'),
  /** Writes the audit to standard output as well, for whoever collects the logs. */
  AUDIT_LOG: v.optional(oneOf(['on', 'off']), 'off'),
  ...proxyEnv,
  /** Origins on private networks that webhooks may name, with commas between them. */
  WEBHOOK_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks that repositories of sources may name. */
  GIT_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** The OAuth service, which has the tokens of connections; without it tools have none. */
  PLATFORM_OAUTH_API_BASE_URL: optional(httpUrl()),
  PLATFORM_OAUTH_API_KEY: optional(text(32)),
  /** A JSON file of prices of models, which come before the shipped ones: as the collector's. */
  COLLECTOR_PRICES_FILE: optional(text()),
  /** A folder for crews that run as processes of this machine: only outside of a cluster. */
  CREW_PROCESSES_DIRECTORY: optional(text()),
  /** The address of web, which has the tools index; required with the folder. */
  CREW_TOOLS_URL: optional(httpUrl()),
  /** An OpenAI-compatible model without a key, for such crews that name none of their own. */
  CREW_MODEL_URL: optional(httpUrl()),
  COLLECTOR_URL: optional(httpUrl()),
  /** Required with `COLLECTOR_URL`. */
  COLLECTOR_JWT_SECRET: optional(text(32)),
  ...clusterCrewsEnv,
  ...crewStorageEnv,
})

/** The variables as a manifest sets them. */
export type WorkerEnv = EnvOf<typeof workerEnv>

/** The variables as a worker reads them. */
export type WorkerConfig = v.InferOutput<typeof workerEnv>
