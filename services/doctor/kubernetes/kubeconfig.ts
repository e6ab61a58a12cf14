import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import * as v from 'valibot'
import { parse } from 'yaml'
import type { EnvSource } from '../../shared/env.ts'
import { toError } from '../../shared/errors.ts'
import type { KubernetesCredentials, KubernetesLogin } from '../../shared/kubernetes/client.ts'
import { wrong } from '../option-values.ts'
import { execSettings, runExecPlugin } from './exec-plugin.ts'
import type { PluginPlace } from './exec-plugin.ts'

const text = v.optional(v.string())

const clusterEntry = v.object({
  server: v.string(),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': v.optional(v.boolean(), false),
  'tls-server-name': text,
  'proxy-url': text,
})

const userEntry = v.object({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  username: text,
  'auth-provider': v.optional(v.unknown()),
  exec: v.optional(execSettings),
})

const contextEntry = v.object({ cluster: v.string(), user: v.optional(v.string(), '') })

const list = <Schema extends v.GenericSchema>(schema: Schema) => v.nullish(v.array(schema), [])

const kubeconfig = v.object({
  'current-context': v.optional(v.string(), ''),
  clusters: list(v.object({ name: v.string(), cluster: clusterEntry })),
  contexts: list(v.object({ name: v.string(), context: contextEntry })),
  users: list(v.object({ name: v.string(), user: v.nullish(userEntry, {}) })),
})

type Kubeconfig = v.InferOutput<typeof kubeconfig>

/** The cluster that a context names. */
interface Context {
  readonly name: string
  readonly login: KubernetesLogin
}

/** Where a kubeconfig is, and which of its contexts is meant. */
interface KubeconfigPlace {
  readonly paths: readonly string[]
  /** Undefined is the current one. */
  readonly contextName: string | undefined
  /** The environment of this process, for plugins. */
  readonly env: EnvSource
}

/**
 * Reads the files of a `KUBECONFIG`, of which the first that has an entry wins, as kubectl does.
 * The context is the one that is named, or the current one. Raises `invalid_request` with what is
 * missing.
 */
export async function readKubeconfig({
  paths,
  contextName,
  env,
}: KubeconfigPlace): Promise<Context> {
  const files = (await Promise.all(paths.map(readConfigFile))).filter((file) => file !== undefined)
  if (files.length === 0) throw wrong(`There is no kubeconfig at ${paths.join(', ')}.`)
  const current = files.find((file) => file.config['current-context'] !== '')
  const name = contextName ?? current?.config['current-context'] ?? ''
  const { context } = find(files, 'contexts', name).entry
  const cluster = find(files, 'clusters', context.cluster)
  if (cluster.entry.cluster['proxy-url'] !== undefined) {
    throw wrong('proxy-url of a kubeconfig is not supported: run the doctor where no proxy is.')
  }
  const user = context.user === '' ? undefined : find(files, 'users', context.user)
  return {
    name,
    login: {
      ...(await toServer(cluster.entry.cluster, cluster.directory)),
      credentials: user
        ? createCredentials(user.entry.user ?? {}, { directory: user.directory, env })
        : async () => ({}),
    },
  }
}

interface ConfigFile {
  readonly config: Kubeconfig
  readonly directory: string
}

async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  const content = await readFile(path, 'utf8').catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw wrong(`The kubeconfig ${path} cannot be read: ${toError(thrown).message}`)
  })
  if (content === undefined) return undefined
  const parsed = v.safeParse(kubeconfig, parseYaml(path, content))
  if (parsed.success) return { config: parsed.output, directory: dirname(resolve(path)) }
  const [issue] = parsed.issues
  throw wrong(`${path} is no kubeconfig: ${v.getDotPath(issue) ?? ''} ${issue.message}`)
}

function parseYaml(path: string, content: string): unknown {
  try {
    return parse(content)
  } catch (thrown) {
    throw wrong(`${path} is no kubeconfig: ${toError(thrown).message}`)
  }
}

function find<Key extends 'clusters' | 'contexts' | 'users'>(
  files: readonly ConfigFile[],
  key: Key,
  name: string,
): { readonly entry: NonNullable<Kubeconfig[Key]>[number]; readonly directory: string } {
  for (const { config, directory } of files) {
    const entry = (config[key] ?? []).find((each) => each.name === name)
    if (entry) return { entry, directory }
  }
  if (key === 'contexts' && name === '') {
    throw wrong('The kubeconfig has no current context: pass --context.')
  }
  const known = files.flatMap(({ config }) => (config[key] ?? []).map((each) => each.name))
  throw wrong(`The kubeconfig has no ${key.slice(0, -1)} "${name}". It has: ${known.join(', ')}.`)
}

async function toServer(
  cluster: v.InferOutput<typeof clusterEntry>,
  directory: string,
): Promise<Omit<KubernetesLogin, 'credentials'>> {
  return {
    url: cluster.server,
    ca: await pem(directory, {
      data: cluster['certificate-authority-data'],
      file: cluster['certificate-authority'],
    }),
    serverName: cluster['tls-server-name'],
    isInsecure: cluster['insecure-skip-tls-verify'],
  }
}

function createCredentials(
  user: v.InferOutput<typeof userEntry>,
  place: PluginPlace,
): () => Promise<KubernetesCredentials> {
  const { exec, token, tokenFile } = user
  const { directory } = place
  if (user.username !== undefined || user['auth-provider'] !== undefined) {
    throw wrong(
      'The user of the kubeconfig logs in by a password or an auth-provider, which Kubernetes no ' +
        'longer has. Use a token, a client certificate or an exec plugin.',
    )
  }
  if (exec) return once(() => runExecPlugin(exec, place))
  return async () => ({
    token: tokenFile ? (await readNear(directory, tokenFile)).trim() : token,
    cert: await pem(directory, {
      data: user['client-certificate-data'],
      file: user['client-certificate'],
    }),
    key: await pem(directory, { data: user['client-key-data'], file: user['client-key'] }),
  })
}

/** A plugin may ask people: the first call does, the others share what it got. */
function once<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => (result ??= call())
}

async function pem(
  directory: string,
  { data, file }: { data: string | undefined; file: string | undefined },
): Promise<string | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
  return file === undefined ? undefined : readNear(directory, file)
}

/** Paths in a kubeconfig begin at the directory that it is in. */
async function readNear(directory: string, file: string): Promise<string> {
  const path = isAbsolute(file) ? file : join(directory, file)
  return readFile(path, 'utf8').catch((thrown: unknown) => {
    throw wrong(`The kubeconfig names ${path}: ${toError(thrown).message}`)
  })
}
