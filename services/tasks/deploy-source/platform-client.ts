import { Readable } from 'node:stream'
import * as v from 'valibot'
import { AppError, toError } from '../../shared/errors.ts'
import type { DeployRequest } from './options.ts'

const CALL_MS = 30_000
const UPLOAD_MS = 600_000

const automation = v.object({ automation_id: v.string() })
const deployment = v.object({
  number: v.number(),
  state: v.string(),
  reason: v.nullable(v.string()),
  source: v.object({ digest: v.string() }),
})
const log = v.object({ text: v.string(), next: v.number() })
const problem = v.object({ detail: v.string() })

/** A deployment, as the platform tells of it. */
export type RemoteDeployment = v.InferOutput<typeof deployment>

/** Recognizes what the platform, or the reading of the directory, refused for good. */
export const isRefused = (thrown: unknown): thrown is AppError =>
  thrown instanceof AppError &&
  ['invalid_request', 'payload_too_large', 'unprocessable'].includes(thrown.code)

interface Call {
  readonly method?: 'POST'
  readonly json?: unknown
  readonly content?: AsyncIterable<Uint8Array>
}

/** Calls the API of a platform with a token. */
export function createClient({ token }: Pick<DeployRequest, 'token'>) {
  async function call<Output>(
    url: string,
    answer: v.GenericSchema<unknown, Output>,
    { method, json, content }: Call = {},
  ): Promise<Output> {
    const type = content ? 'application/gzip' : json === undefined ? undefined : 'application/json'
    const response = await send(url, {
      method: method ?? 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(content ? { body: Readable.toWeb(Readable.from(content)), duplex: 'half' } : {}),
      redirect: 'error',
      signal: AbortSignal.timeout(content ? UPLOAD_MS : CALL_MS),
    })
    const body: unknown = await response.json().catch(() => undefined)
    const result = v.safeParse(answer, body)
    if (response.ok && result.success) return result.output
    throw refusal(url, response.status, body)
  }

  return {
    create: async (platform: URL, name: string): Promise<string> => {
      const all = `${platform.href.replace(/\/+$/, '')}/designer/v2/automations`
      const made = await call(all, automation, { method: 'POST', json: { name } })
      return `${all}/${made.automation_id}`
    },
    deploy: (url: string, content: AsyncIterable<Uint8Array>): Promise<RemoteDeployment> =>
      call(`${url}/deployments`, deployment, { method: 'POST', content }),
    look: (url: string, number: number): Promise<RemoteDeployment> =>
      call(`${url}/deployments/${number}`, deployment),
    readLog: (url: string, number: number, from: number) =>
      call(`${url}/deployments/${number}/logs/build?from=${from}`, log),
  }
}

async function send(url: string, init: object): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (thrown) {
    const { message, cause } = toError(thrown)
    const why = cause === undefined ? message : toError(cause).message
    throw new AppError('unavailable', `${new URL(url).origin} cannot be reached: ${why}`)
  }
}

function refusal(url: string, status: number, body: unknown): AppError {
  const told = v.safeParse(problem, body)
  const message = told.success
    ? told.output.detail
    : `${url} answered HTTP ${status}, which is no answer of the platform. Look at --to.`
  const isOfSource = told.success && [400, 409, 413, 415, 422].includes(status)
  return new AppError(isOfSource ? 'unprocessable' : 'bad_gateway', message)
}
