import * as v from 'valibot'
import { databaseEnv } from '../shared/postgres/address.ts'
import { flag, httpUrl, integer, logLevel, optional, origins, text } from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'
import { proofEnv } from '../shared/postgres/upgrade-proof.ts'
import { proxyEnv } from '../shared/outgoing/forward-proxy.ts'

/** The variables of the tasks on the main database. */
export const tasksEnv = v.object({
  ...databaseEnv,
  LOG_LEVEL: logLevel,
  /**
   * The wait for an unavailable database.
   * @default 300 for tasks that Jobs run, 5 for those of people
   */
  DATABASE_WAIT_SECONDS: optional(integer(0, 3600)),
  ...proofEnv,
})

/**
 * The keys that seal what the database keeps, as far as the program that comes after this task has
 * them.
 */
export const sealingKeysEnv = v.object({
  SECRET_KEY_BASE: optional(text(32)),
  SECRET_KEY_BASE_PREVIOUS: optional(text(32)),
  OAUTH_ENCRYPTION_KEY: optional(text(32)),
  OAUTH_ENCRYPTION_KEY_PREVIOUS: optional(text(32)),
})

const names = () =>
  v.pipe(
    v.string(),
    v.transform((list) => list.split(',').filter((name) => name !== '')),
  )

/**
 * The variables of `secrets:follow`; the API server's address and the service account come from the
 * kubelet.
 */
export const followEnv = v.object({
  LOG_LEVEL: logLevel,
  POD_NAMESPACE: text(),
  /** The Secret with the platform's keys: `<release>-secrets`, or the operator's own. */
  PLATFORM_SECRET: text(),
  /** Comma-separated Deployments that restart when a key that they run with has changed. */
  RESTART_DEPLOYMENTS: v.optional(names(), ''),
  /**
   * The StatefulSet of the chart's own PostgreSQL, which restarts when the password has changed.
   */
  RESTART_POSTGRES: optional(text()),
  /** The Secret that gets the certificates of builds, and the host of BuildKit. */
  BUILD_TLS_SECRET: optional(text()),
  BUILD_TLS_HOST: optional(text()),
})

/** The further variables of `secrets:bootstrap`. */
export const bootstrapEnv = v.object({
  ...followEnv.entries,
  /** The Secret with the operator's own values, where there are any. */
  PLATFORM_SECRET_OVERRIDES: optional(text()),
  /**
   * The Secret that this task alone writes: it keeps the keys that stored data depends on. It is
   * made when it is missing.
   */
  PLATFORM_SECRET_KEPT: text(),
  /** Comma-separated keys that must have a value. */
  PLATFORM_SECRET_KEYS: names(),
  /**
   * The main database, which is asked for sealed data before a key is made that may have sealed
   * some. Its password comes from the Secrets above.
   */
  ...databaseEnv,
  /** The wait for it. @default 10 */
  DATABASE_WAIT_SECONDS: optional(integer(0, 3600)),
})

const PATIENCE_SECONDS_MAX = 3600

/**
 * The variables of the tasks that install crews in a cluster; the API server's address comes from
 * the kubelet.
 */
export const clusterCrewEnv = v.object({
  LOG_LEVEL: logLevel,
  /** The namespace of the crews, or the beginning of its name (SPEC 7). */
  K8S_NAMESPACE: text(),
  /** As the workers have it: a crew's token derives from it. */
  SECRET_KEY_BASE: text(32),
  /** The platform's own image, which holds the runtime of crews. */
  CREW_IMAGE: text(),
  /** Sets the feature flag `k8s_namespace_isolation`; without it the flag stays as it is. */
  CREW_NAMESPACE_ISOLATION: optional(flag()),
  /** The namespace and the release of the platform; only its pods reach the crews. */
  POD_NAMESPACE: optional(text()),
  RELEASE_NAME: optional(text()),
  /** Gives crews a NetworkPolicy, for which the two above are needed; `false` removes it. */
  CREW_NETWORK_POLICY: optional(flag()),
  /** The pods that run models inside the cluster; any pod when it is not set. */
  CREW_MODEL_NAMESPACE: optional(text()),
  /** The pods that tools of crews call inside the cluster. */
  CREW_TOOL_NAMESPACE: optional(text()),
  /** Whether crews reach private addresses outside of these. @default true */
  CREW_PRIVATE_RANGES: optional(flag()),
  /**
   * Credentials for the image, `.dockerconfigjson`; a Secret with them is made where the crews are.
   */
  CREW_IMAGE_PULL_FILE: optional(text()),
  /** A Secret in the namespace of the crews, for when there is no such file. */
  CREW_IMAGE_PULL_SECRET: optional(text()),
  /** Certificate authorities in PEM that crews trust beside the public ones. */
  CREW_CA_FILE: optional(text()),
  /** The proxy of the crews. */
  ...proxyEnv,
  /**
   * The cluster assigns users and groups to pods, as OpenShift does; crews have user 1000
   * otherwise.
   */
  CREW_ARBITRARY_USER: optional(flag()),
  /** The model of the crews. */
  OPENAI_BASE_URL: optional(httpUrl()),
  OPENAI_API_KEY: optional(text()),
  /** Origins on private networks that LLM connections may name. */
  LLM_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks that the tools of crews may name. */
  TOOL_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** The time for a crew's pod to become ready. */
  CREW_TIMEOUT_SECONDS: v.optional(integer(1, PATIENCE_SECONDS_MAX), '300'),
})

/** Their variables outside a cluster: the address of a crew that somebody runs. */
export const localCrewEnv = v.object({ CREW_URL: httpUrl() })

/** The variables of `configure`. */
export const configurationEnv = v.object({
  ...tasksEnv.entries,
  /** The address of web inside the cluster. */
  PLATFORM_URL: httpUrl(),
  /** The version that web has to have. @default any */
  PLATFORM_VERSION: optional(text()),
  /** The wait for it. @default 600 */
  WEB_WAIT_SECONDS: v.optional(integer(0, PATIENCE_SECONDS_MAX), '600'),
})

export type { BackupEnv } from './backup/env.ts'
/** The variables as a manifest sets them. */
export type TasksEnv = EnvOf<typeof tasksEnv>
/** The variables of `configure` as the task reads them. */
export type ConfigurationConfig = v.InferOutput<typeof configurationEnv>
/** The variables of `configure` as a manifest sets them. */
export type ConfigurationEnv = EnvOf<typeof configurationEnv>
/** The sealing keys as a manifest sets them. */
export type SealingKeysEnv = EnvOf<typeof sealingKeysEnv>
/** The variables of `secrets:bootstrap` as a manifest sets them. */
export type BootstrapEnv = EnvOf<typeof bootstrapEnv>
/** The variables of `secrets:follow` as the task reads them. */
export type FollowConfig = v.InferOutput<typeof followEnv>
/** The variables of `secrets:bootstrap` as the task reads them. */
export type BootstrapConfig = v.InferOutput<typeof bootstrapEnv>
/** The variables of crew installation as a manifest sets them. */
export type ClusterCrewEnv = EnvOf<typeof clusterCrewEnv>
/** The variables of crew installation as the tasks read them. */
export type ClusterCrewConfig = v.InferOutput<typeof clusterCrewEnv>
