import * as v from 'valibot'
import { databaseEnv } from '../shared/database.ts'
import { logLevel, optional, text } from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'

/** What the tasks on the main database read. */
export const tasksEnv = v.object({ ...databaseEnv, LOG_LEVEL: logLevel })

const names = () =>
  v.pipe(
    v.string(),
    v.transform((list) => list.split(',').filter((name) => name !== '')),
  )

/** What `secrets:bootstrap` reads; the API server's address and the service account come from the kubelet. */
export const bootstrapEnv = v.object({
  LOG_LEVEL: logLevel,
  POD_NAMESPACE: text(),
  /** The platform Secret, which must exist: `<release>-secrets`. */
  PLATFORM_SECRET: text(),
  /** The Secret with the operator's own values, where there are any. */
  PLATFORM_SECRET_OVERRIDES: optional(text()),
  /** Comma-separated keys that must have a value. */
  PLATFORM_SECRET_KEYS: names(),
  /** Comma-separated Deployments that restart when a key that they run with has changed. */
  RESTART_DEPLOYMENTS: v.optional(names(), ''),
})

export type TasksEnv = EnvOf<typeof tasksEnv>
export type BootstrapEnv = EnvOf<typeof bootstrapEnv>
export type BootstrapConfig = v.InferOutput<typeof bootstrapEnv>
