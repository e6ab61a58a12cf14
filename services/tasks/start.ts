import { originsOf, readerOf } from '../platform/connections/llm-usage.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import type { Database } from '../shared/postgres/database.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { createKubernetes, inClusterAddress } from '../shared/kubernetes/client.ts'
import type { Kubernetes } from '../shared/kubernetes/client.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { disable, enable, printUsers, resetPassword } from './accounts.ts'
import { API_TASKS, OUTPUT } from './api-tasks.ts'
import { BACKUP_TASKS } from './backup/tasks.ts'
import { bootstrapSecrets } from './bootstrap-secrets.ts'
import { configure } from './configure/configure.ts'
import { createOrganizationToken } from './create-token.ts'
import { createUser, describeUser, readUserRequest } from './create-user.ts'
import { installCrews } from './crews/install-crew.ts'
import type { CrewHost, Part } from './crews/install-crew.ts'
import {
  bootstrapEnv,
  clusterCrewEnv,
  configurationEnv,
  followEnv,
  localCrewEnv,
  sealingKeysEnv,
  tasksEnv,
} from './env.ts'
import type { FollowConfig } from './env.ts'
import { ERASURE_TASKS } from './erasures.ts'
import { printFlags, switchFlag } from './flags.ts'
import { IMPORT_USAGE, importProject, readImportRequest } from './import-project.ts'
import { installInternalOrganization, installPublicRepository } from './install.ts'
import { withMigratedDatabase } from './migrate.ts'
import { addOrganization, dropMember, setMember } from './organizations.ts'
import { resealKeys } from './reseal-keys.ts'
import { changeRole } from './roles.ts'
import { acceptSealingKey, checkSealingKeys } from './sealing-keys.ts'
import { followSecret } from './secret-readers.ts'
import { seedSamples } from './seed.ts'
import { createSignInLink } from './sign-in-link.ts'

/** A registry may be unavailable for a moment. */
const PATIENCE = { stuckMs: 60_000, pollMs: 2000 }

/** Jobs wait as long as the pods' startup probes allow; people want to know soon. */
const JOB_WAIT_SECONDS = 300
const PERSON_WAIT_SECONDS = 5

interface Task {
  readonly summary: string
  /** Returns the exit code; nothing is 0. */
  run(source: EnvSource, args: readonly string[]): Promise<number | void>
}

const TASKS: Readonly<Record<string, Task>> = {
  migrate: {
    summary: 'bring the main database to the schema of this version, and check the keys against it',
    run: (source, args) =>
      useDatabase({ source, args, use: (sql) => checkSealingKeys(sql, source) }),
  },
  setup: onDatabase('everything that an installation needs once', async (sql, log) => {
    await installInternalOrganization(sql, log)
    await installPublicRepository(sql, log)
  }),
  'designer:install_internal_organization': onDatabase(
    'create the internal organization',
    installInternalOrganization,
  ),
  'designer:import': {
    summary: 'DIR: import a CrewAI project as a draft, or only check it; see --help',
    async run(source, args) {
      const request = readImportRequest(args)
      if (!request) return void process.stdout.write(IMPORT_USAGE)
      const waitSeconds = PERSON_WAIT_SECONDS
      return importProject(request, (use) => useDatabase({ source, args, waitSeconds, use }))
    },
  },
  ...API_TASKS,
  configure: {
    summary: 'FILE|DIR…: apply the configuration of the installation (as a Job in the cluster)',
    run(source, args) {
      const env = readEnv(configurationEnv, source)
      const use: Use = (sql, log) => configure(sql, { env, args, source, output: OUTPUT, log })
      return useDatabase({ source, args, use })
    },
  },
  'designer:agent:install': installTask('agent', 'the Assistant'),
  'designer:runner:install': installTask('runner', 'the Runner'),
  'tools:install_public_repository': onDatabase(
    'create the public tool repository',
    installPublicRepository,
  ),
  seed: forPeople(
    '[ORGANIZATION]: two sample projects to try, as automations on the Runner',
    (sql, log, [organization]) => seedSamples(sql, log, organization),
  ),
  'users:create': {
    summary: 'EMAIL [ORGANIZATION] [--role ROLE]: create a person and print the password, once',
    async run(source, args) {
      const request = readUserRequest(args)
      const use: Use = async (sql) => {
        const { password, organization } = await createUser(sql, request)
        process.stderr.write(`${describeUser(request, organization)}\n`)
        process.stdout.write(`${password}\n`)
      }
      await useDatabase({ source, args, waitSeconds: PERSON_WAIT_SECONDS, use })
    },
  },
  'users:list': forPeople(
    'every user: id, state, roles, memberships, address, way of signing in',
    (sql) => printUsers(sql, (line) => void process.stdout.write(`${line}\n`)),
  ),
  'users:password': forPeople(
    'EMAIL|ID: give a local account a new password and print it, once; its sessions end',
    async (sql, log, [who = '']) => {
      process.stdout.write(`${await resetPassword(sql, who, log)}\n`)
    },
  ),
  'users:link': {
    summary: 'EMAIL|ID: print a link that signs a user in once, within 15 minutes',
    async run(source, args) {
      const { PLATFORM_BASE_URL: baseUrl = '' } = source
      const use: Use = async (sql, log, [who = '']) => {
        process.stdout.write(`${baseUrl}${await createSignInLink(sql, who, log)}\n`)
      }
      await useDatabase({ source, args, waitSeconds: PERSON_WAIT_SECONDS, use })
    },
  },
  'users:disable': forPeople(
    'EMAIL|ID: end the sessions of a user and refuse new ones',
    (sql, log, [who = '']) => disable(sql, who, log),
  ),
  'users:enable': forPeople('EMAIL|ID: let a disabled user in again', (sql, log, [who = '']) =>
    enable(sql, who, log),
  ),
  'members:set': forPeople(
    'EMAIL|ID ORGANIZATION ROLE: make a user a viewer, editor or admin of an organization',
    (sql, log, [who, organization, role]) => setMember(sql, { who, organization, role }, log),
  ),
  'members:remove': forPeople(
    'EMAIL|ID ORGANIZATION: end a membership; what the user made stays',
    (sql, log, [who, organization]) => dropMember(sql, { who, organization }, log),
  ),
  'organizations:create': forPeople('NAME: create an organization', (sql, log, [name]) =>
    addOrganization(sql, log, name),
  ),
  'tokens:create': forPeople(
    'ORGANIZATION NAME [SCOPES [DAYS]]: issue a token for a whole organization and print it, once',
    async (sql, _log, [organization, name, scopes, days]) => {
      const token = await createOrganizationToken(sql, { organization, name, scopes, days })
      process.stdout.write(`${token}\n`)
    },
  ),
  'users:grant': forPeople(
    'EMAIL|ID [ROLE]: grant a role (platform-admin), whatever the identity provider says',
    (sql, log, [who = '', role]) => changeRole(sql, { who, role, kind: 'grant' }, log),
  ),
  'users:revoke': forPeople(
    'EMAIL|ID [ROLE]: take a role back that was granted here',
    (sql, log, [who = '', role]) => changeRole(sql, { who, role, kind: 'revoke' }, log),
  ),
  'flags:list': forPeople('list the feature flags, for the platform and for organizations', (sql) =>
    printFlags(sql),
  ),
  'flags:set': forPeople(
    'NAME on|off [ORGANIZATION]: switch a feature flag, for the platform or for one organization',
    (sql, log, [name, state, organization]) => switchFlag(sql, { name, state, organization }, log),
  ),
  'keys:accept': forPeople(
    'NAME: give up what a lost SECRET_KEY_BASE or OAUTH_ENCRYPTION_KEY sealed',
    (sql, log, [name]) => acceptSealingKey(sql, log, name),
  ),
  'keys:reseal': {
    summary: 'seal keys and secrets with SECRET_KEY_BASE, after a rotation',
    async run(source, args) {
      const given = readEnv(sealingKeysEnv, source)
      const pair = { current: given.SECRET_KEY_BASE, previous: given.SECRET_KEY_BASE_PREVIOUS }
      const waitSeconds = PERSON_WAIT_SECONDS
      const use: Use = (sql, log) => resealKeys(sql, pair, log)
      await useDatabase({ source, args, waitSeconds, use })
    },
  },
  ...BACKUP_TASKS,
  ...ERASURE_TASKS,
  'secrets:bootstrap': {
    summary: 'give every key of the platform Secret a value (as a Job in the cluster)',
    run: inCluster((source) => readEnv(bootstrapEnv, source), bootstrapSecrets),
  },
  'secrets:follow': {
    summary: 'restart what reads a Secret that has changed (as a Job in the cluster)',
    run: inCluster((source) => readEnv(followEnv, source), followSecret),
  },
}

type Use = (sql: Database, log: Log, args: readonly string[]) => Promise<number | void>

interface DatabaseUse {
  readonly source: EnvSource
  readonly args: readonly string[]
  /** @default 300 */
  readonly waitSeconds?: number
  readonly use: Use
}

/** Uses the main database, which is waited for and migrated first. */
async function useDatabase({ source, args, waitSeconds, use }: DatabaseUse): ReturnType<Use> {
  const env = readEnv(tasksEnv, source)
  const log = createLog({ name: 'tasks', level: env.LOG_LEVEL })
  const waitMs = (env.DATABASE_WAIT_SECONDS ?? waitSeconds ?? JOB_WAIT_SECONDS) * 1000
  const database = { address: databaseAddress(env), waitMs, config: env, log }
  return withMigratedDatabase(database, (sql) => use(sql, log, args))
}

function onDatabase(summary: string, use: Use): Task {
  return { summary, run: (source, args) => useDatabase({ source, args, use }) }
}

/** A task that somebody runs at a shell. */
function forPeople(summary: string, use: Use): Task {
  const waitSeconds = PERSON_WAIT_SECONDS
  return { summary, run: (source, args) => useDatabase({ source, args, waitSeconds, use }) }
}

/**
 * In a cluster it deploys; elsewhere it starts nothing and records where somebody runs the crew.
 */
function installTask(part: Part, what: string): Task {
  return {
    summary: `[URL]: install ${what}, in the cluster or as it runs at URL`,
    async run(source, args) {
      const host = readHost(source, args)
      const use: Use = async (sql, log) => {
        await checkSealingKeys(sql, source)
        await installCrews(sql, part, { host, log })
      }
      await useDatabase({ source, args, use })
    },
  }
}

function readHost(source: EnvSource, [url = source['CREW_URL']]: readonly string[]): CrewHost {
  const address = inClusterAddress(source)
  if (!address && url === undefined) {
    throw new AppError(
      'invalid_configuration',
      'Outside of a Kubernetes cluster this task starts nothing. Give the address of the crew ' +
        'that you run, after the name of the task or in CREW_URL.',
    )
  }
  if (!address) return { url: readEnv(localCrewEnv, { CREW_URL: url }).CREW_URL }
  const given = readEnv(clusterCrewEnv, source)
  const named = originsOf(readerOf(source))
  const origins = [...new Set([...given.LLM_PRIVATE_ORIGINS, ...named])]
  const config = { ...given, LLM_PRIVATE_ORIGINS: origins }
  const timeoutMs = config.CREW_TIMEOUT_SECONDS * 1000
  return { kubernetes: createKubernetes(address), config, patience: { ...PATIENCE, timeoutMs } }
}

/** A task on objects of the cluster, which runs in a pod. */
function inCluster<Config extends FollowConfig>(
  read: (source: EnvSource) => Config,
  use: (kubernetes: Kubernetes, config: Config, log: Log) => Promise<void>,
): Task['run'] {
  return async (source) => {
    const config = read(source)
    const address = inClusterAddress(source)
    if (!address) {
      throw new AppError(
        'invalid_configuration',
        'This task runs in a Kubernetes pod: KUBERNETES_SERVICE_HOST is not set.',
      )
    }
    const log = createLog({ name: 'tasks', level: config.LOG_LEVEL })
    await use(createKubernetes(address), config, log)
  }
}

/** The list of tasks, for `--help`. */
export function usage(): string {
  const width = Math.max(...Object.keys(TASKS).map((name) => name.length))
  const lines = Object.entries(TASKS).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`,
  )
  return `Usage: npm run task -- <task>\n\nTasks, each safe to run again:\n${lines.join('\n')}\n`
}

/**
 * Runs one task to its end, and returns the exit code; its first argument is the name. Raises
 * `invalid_request` for a name that is not in the list.
 */
export async function runTask(
  [name = '', ...args]: readonly string[],
  source: EnvSource,
): Promise<number> {
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined
  if (!task) throw new AppError('invalid_request', `There is no task "${name}".\n\n${usage()}`)
  return (await task.run(source, args)) ?? 0
}
