import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { words } from '../bed/words.ts'
import { addressOf, comesTrue, tryKubectl } from './cluster.ts'
import { makeCaller } from './platform.ts'
import type { Caller } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'

/** The files of a project, by their paths. */
export type Project = Readonly<Record<string, string>>

/** The project as an archive, as \`tar\` makes it. */
async function archive(files: Project): Promise<Uint8Array<ArrayBuffer>> {
  const directory = mkdtempSync(join(tmpdir(), 'own-crew-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(directory, 'project', name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    const file = join(directory, 'project.tar.gz')
    const made = spawnSync('tar', ['-czf', file, '-C', join(directory, 'project'), '.'])
    assert.equal(made.status, 0, made.stderr.toString())
    return new Uint8Array(await readFile(file))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** A deployment, as far as the walk looks at it. */
export interface Deployment {
  readonly number: number
  readonly state: string
  readonly reason: string | null
  readonly image: string | null
}

/** The platform's API, for an organization. */
export interface Api {
  /** Of the release. */
  readonly namespace: string
  readonly base: string
  readonly token: string
}

export async function openApi(namespace = NAMESPACE): Promise<Api> {
  const { token } = await makeCaller(namespace)
  return { namespace, base: await addressOf(namespace, 'platform-web'), token }
}

interface Request {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | FormData | Uint8Array<ArrayBuffer>
}

export async function call<T>({ base, token }: Api, path: string, init: Request = {}): Promise<T> {
  const answer = await fetch(base + path, {
    ...init,
    headers: { Authorization: `Bearer ${token}`, ...init.headers },
    signal: AbortSignal.timeout(30_000),
  })
  const text = await answer.text()
  assert(answer.ok, `${init.method ?? 'GET'} ${path}: ${answer.status} ${text}`)
  // An answer whose form the platform's own tests pin.
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** Sends JSON to the API. */
export const send = <T>(
  api: Api,
  path: string,
  { method = 'POST', body }: { readonly method?: string; readonly body: unknown },
): Promise<T> =>
  call<T>(api, path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Where and with which token an automation is called. */
export const callerOf = ({ base, token }: Api, automation: string): Caller => ({
  url: `${base}/platform/api/v1/crew/${automation.split('/').at(-1) ?? ''}`,
  token,
})

/** Creates an automation from source; returns its path in the API. */
export async function createAutomation(api: Api, name: string): Promise<string> {
  const path = '/designer/v2/automations'
  const made = { name: `${name} ${Date.now()}` }
  const { automation_id: id } = await send<{ automation_id: string }>(api, path, {
    body: made,
  })
  return `${path}/${id}`
}

/** Sends a project; returns the number of its deployment. */
export async function sendProject(api: Api, automation: string, project: Project): Promise<number> {
  const headers = { 'content-type': 'application/gzip' }
  const init = { method: 'POST', headers, body: await archive(project) }
  return (await call<Deployment>(api, `${automation}/deployments`, init)).number
}

/** Waits until a deployment is online; the build log tells why when it is not. */
export async function isOnline(api: Api, automation: string, number: number): Promise<Deployment> {
  const path = `${automation}/deployments/${number}`
  let last: Deployment | undefined
  await comesTrue(
    `deployment ${number} is online`,
    async () => {
      last = await call<Deployment>(api, path)
      assert.notEqual(last.state, 'Crew has Failed', JSON.stringify(last))
      return last.state === 'Crew is Online'
    },
    20,
  ).catch(async (cause: unknown) => {
    throw new Error(`${JSON.stringify(last)}\n${await buildLog(api, path)}`, { cause })
  })
  assert(last)
  return last
}

/** What the build of a deployment printed. */
export async function buildLog(api: Api, deployment: string): Promise<string> {
  const log = await call<unknown>(api, `${deployment}/logs/build`).catch((error: unknown) => error)
  return typeof log === 'string' ? log : JSON.stringify(log)
}

/** Deletes an automation, and waits until nothing of it is left in the cluster. */
export async function removeAutomation(api: Api, automation: string): Promise<void> {
  await call(api, automation, { method: 'DELETE' })
  await comesTrue('nothing of it is left', async () => (await objectsLeft(api)) === '')
}

const objectsLeft = async ({ namespace }: Api): Promise<string> => {
  const kinds = 'deployments,jobs,services,networkpolicies,secrets,pods'
  const { stdout } = await tryKubectl(
    words`get ${kinds} -n ${crewsOf(namespace)} -l platform/automation -o name`,
  )
  return stdout.trim()
}
