import { mkdtemp, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { applyFiles } from '../../../../services/tasks/resources/apply-files.ts'
import { exportDocuments } from '../../../../services/tasks/resources/export-documents.ts'
import {
  readApplyRequest,
  readExportRequest,
} from '../../../../services/tasks/resources/options.ts'
import { startHttpServer } from '../../../support/http-server.ts'

/** Serves an app on this machine. */
export function serveApp({ fetch }: { readonly fetch: Parameters<typeof getRequestListener>[0] }) {
  const listen = getRequestListener(fetch)
  return startHttpServer((request, response) => void listen(request, response))
}

/** A call that passes a gate. */
export interface PassingCall {
  readonly method: string
  readonly path: string
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: Buffer
  /** A proxy may keep it for all who ask. */
  readonly isPublic: boolean
}

async function pass(
  url: string,
  { method = '', url: path = '', headers: given }: IncomingMessage,
  body: Buffer | null,
): Promise<Answer> {
  const { host: _, connection: __, ...headers } = given
  const answer = await fetch(url + path, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    body,
  })
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    body: Buffer.from(await answer.arrayBuffer()),
    isPublic: answer.ok && (answer.headers.get('cache-control') ?? '').includes('public'),
  }
}

/**
 * Starts what stands before a platform, and may break its connections or send callers back. It
 * keeps what a proxy may: the description of the API, which each task asks for.
 */
export async function openGate(url: string) {
  const kept = new Map<string, Answer>()
  let see: (call: PassingCall) => Promise<'break' | 'busy' | void> = async () => {}
  const server = await startHttpServer((request, response) => {
    void (async () => {
      const { method = '', url: path = '' } = request
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      const verdict = await see({ method, path })
      if (verdict === 'break') return request.socket.destroy()
      if (verdict === 'busy') return response.writeHead(429, { 'retry-after': '0' }).end('{}')
      const body = chunks.length > 0 ? Buffer.concat(chunks) : null
      const answer = kept.get(path) ?? (await pass(url, request, body))
      if (answer.isPublic) kept.set(path, answer)
      return response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body)
    })()
  })
  return {
    ...server,
    /** Calls this before each call passes, until it is told otherwise. */
    watch: (watcher: typeof see) => void (see = watcher),
  }
}

/** Runs the tasks as a person would, with files in a directory of their own. */
export function createRunner(address: () => { readonly url: string; readonly token: string }) {
  return {
    async apply(files: string | Readonly<Record<string, string>>, ...args: readonly string[]) {
      const all = typeof files === 'string' ? { 'all.yaml': files } : files
      const directory = await mkdtemp(join(tmpdir(), 'apply-'))
      for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text)
      const { url, token } = address()
      const source = { PLATFORM_API_TOKEN: token, A_SECRET: 'hidden-1' }
      const request = readApplyRequest([directory, '--url', url, ...args], source)
      if (!request) throw new Error('it asks for help')
      let [result, problem] = ['', '']
      const code = await applyFiles(request, {
        result: (text) => void (result += text),
        problem: (text) => void (problem += text),
      })
      return { code, result, problem: problem.replaceAll(`${directory}/`, '') }
    },
    export: (...args: readonly string[]): Promise<string> => {
      const { url, token } = address()
      const request = readExportRequest(['--url', url, ...args], { PLATFORM_TOKEN: token })
      if (!request) throw new Error('it asks for help')
      return exportDocuments(request)
    },
  }
}
