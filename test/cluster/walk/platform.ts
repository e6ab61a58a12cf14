import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { words } from '../bed/words.ts'
import { addressOf, comesTrue, kubectl, secretValue } from './cluster.ts'

/** The report of `/health/debug`, as far as the walk looks at it. */
export interface Report {
  readonly status: 'ok' | 'degraded' | 'fail'
  readonly components: Readonly<Record<string, Component | undefined>>
}

export interface Component {
  readonly status: 'ok' | 'fail' | 'skipped'
  readonly error?: string
  readonly details?: Readonly<Record<string, unknown>>
}

interface KickoffAnswer {
  readonly kickoff_id: string
}

interface StatusAnswer {
  readonly status: string
}

/** Reads an answer whose form the platform's own tests pin; the walk asserts on what it uses. */
const json = async <T>(answer: Response): Promise<T> => (await answer.json()) as T

export async function ask(url: string, token: string): Promise<Response> {
  const headers = { 'X-Platform-Debug-Token': token }
  return fetch(url, { headers, signal: AbortSignal.timeout(20_000) })
}

export const debugToken = (namespace: string): Promise<string> =>
  secretValue(namespace, 'platform-secrets', 'PLATFORM_DEBUG_TOKEN')

/** What the platform says about itself. */
export async function readReport(namespace: string): Promise<Report> {
  const url = `${await addressOf(namespace, 'platform-web')}/health/debug`
  return json<Report>(await ask(url, await debugToken(namespace)))
}

/** Waits until the report is what a sentence expects of it, and fails with the last one. */
export async function reports(
  namespace: string,
  what: string,
  isSo: (report: Report) => boolean,
): Promise<void> {
  let last: unknown
  await comesTrue(what, async () => {
    try {
      const report = await readReport(namespace)
      last = report
      return isSo(report)
    } catch (error) {
      last = error
      return false
    }
  }).catch((cause: unknown) => {
    throw new Error(`the report is not: ${what}\n${JSON.stringify(last, null, 1)}`, { cause })
  })
}

/** Waits until all is well, and fails with what is not. */
export const isWell = (namespace: string): Promise<void> =>
  reports(namespace, 'ok', ({ status }) => status === 'ok')

/** Runs a task of the platform in a web pod. */
export const task = (namespace: string, line: readonly string[]): Promise<string> =>
  kubectl(
    words`exec -n ${namespace} deployment/platform-web -c web -- node build/tasks/main.js ${line}`,
  )

export interface Caller {
  /** The automation's address, to which `/kickoff` and `/status/…` are appended. */
  readonly url: string
  readonly token: string
}

/** The sample automation and a token for it, as an operator makes them. */
export async function makeCaller(namespace: string): Promise<Caller> {
  const seeded = await task(namespace, ['seed'])
  const [, automation] = /"automation_id":"([^"]+)"/.exec(seeded) ?? []
  assert(automation, `seed names no automation: ${seeded}`)
  const issued = await task(namespace, words`tokens:create Default ${`walk ${randomUUID()}`}`)
  const token = issued.trim().split('\n').at(-1) ?? ''
  const base = await addressOf(namespace, 'platform-web')
  return { url: `${base}/platform/api/v1/crew/${automation}`, token }
}

/** Starts a run and waits until it has ended; returns its id and how it ended. */
export async function runToEnd(
  caller: Caller,
  topic?: string,
): Promise<{ id: string; status: string }> {
  const id = await kickOff(caller, topic)
  return { id, status: await endOf(caller, id) }
}

/** Waits until a run has ended; returns how it ended. */
export async function endOf(caller: Caller, id: string): Promise<string> {
  let status = ''
  await comesTrue(`run ${id} ends`, async () => {
    const answer = await callApi(caller, `/status/${id}`)
    status = (await json<StatusAnswer>(answer)).status
    return !['queued', 'running'].includes(status)
  })
  return status
}

/** Starts a run with one text for all of its inputs. */
export async function kickOff(caller: Caller, topic = 'tidal power'): Promise<string> {
  const { inputs } = await json<{ inputs: string[] }>(await callApi(caller, '/inputs'))
  const given = Object.fromEntries(inputs.map((name) => [name, topic]))
  const answer = await callApi(caller, '/kickoff', { inputs: given })
  const text = await answer.clone().text()
  assert.equal(answer.status, 202, `kickoff: ${text}`)
  return (await json<KickoffAnswer>(answer)).kickoff_id
}

export function callApi({ url, token }: Caller, path: string, body?: unknown): Promise<Response> {
  return fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    signal: AbortSignal.timeout(20_000),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** Asks a database of the installation, and returns what psql prints. */
export const query = async (namespace: string, database: string, sql: string): Promise<string> => {
  const printed = await kubectl(
    words`exec -n ${namespace} platform-postgres-0 --
      psql --no-psqlrc -qAt -U platform -d ${database} -c ${sql}`,
  )
  return printed.trim()
}
