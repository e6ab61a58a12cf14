import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { deadline } from '../../../shared/deadline.ts'
import { toError } from '../../../shared/errors.ts'
import { readBounded } from '../../../shared/http/read-bounded.ts'
import { ADAPTER } from './tools-index.ts'
import type { PackageIndexes } from './tools-index.ts'

const ANSWER_MS = 30_000
const PAGE_BYTES_MAX = 8 * 1024 * 1024
const SECRET_BYTES = 32
const NAME = /^\/simple\/([a-z0-9][a-z0-9-]*)\/$/
const FOLDER = /(?:organization|public)\/files|organization\/upstream\/[a-z0-9-]+\/[0-9a-f]{64}/
const FILE = new RegExp(`^/tools/(?:${FOLDER.source})/[\\w.+!-]+$`)

/** An index for pip that runs while a crew is built. */
interface FirstIndex {
  /** With a secret, which stands before each of its paths. */
  readonly url: string
  stop(): Promise<void>
}

/**
 * Serves, on this machine and to this build alone, an index in which a name of the organization is
 * never taken from anywhere else. pip would take the newest version that any of its indexes has,
 * and so a stranger's package of the same name.
 */
export async function startFirstIndex(indexes: PackageIndexes): Promise<FirstIndex> {
  const root = `/${randomBytes(SECRET_BYTES).toString('base64url')}`
  const server = createServer((request, response) => {
    answer({ ...indexes, root }, request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(502)
      response.end(toError(thrown).message)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}${root}/simple/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  { organization, publicUrl, root }: PackageIndexes & { readonly root: string },
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = url.startsWith(`${root}/`) ? url.slice(root.length) : ''
  const name = NAME.exec(path)?.[1]
  if (name === undefined && !FILE.test(path)) return void response.writeHead(404).end()
  const own = organization.url.replace(/\/simple\/$/, '')
  const address = name === undefined ? new URL(path, own) : new URL(`${own}/simple/${name}/`)
  const authorization = `Bearer ${organization.token}`
  const asked = await deadline({ name: 'tools index', timeoutMs: ANSWER_MS }, (signal) =>
    fetch(address, {
      headers: { authorization, accept: headers.accept ?? '*/*' },
      redirect: 'manual',
      signal,
    }),
  )
  if (name === undefined) return passOn(asked, response)
  if (asked.status === 404) return refer(publicUrl, name, response)
  if (asked.status !== 200) throw new Error(`The tools index answers HTTP ${asked.status}.`)
  const page = await readBounded(asked, PAGE_BYTES_MAX)
  const type = asked.headers.get('content-type') ?? 'text/html'
  response.writeHead(200, { 'content-type': type }).end(fromHere(page ?? '', root))
}

/** Sends pip to the public index; never for what the platform itself has to have. */
function refer(publicUrl: string, name: string, response: ServerResponse): void {
  if (name === ADAPTER) return void response.writeHead(404).end()
  const location = `${publicUrl.replace(/\/+$/, '')}/${name}/`
  response.writeHead(302, { location }).end()
}

/** Addresses of files are relative to the page; here they are those of this server. */
const fromHere = (page: string, root: string): string =>
  page
    .replaceAll('"../../../public/files/', `"${root}/tools/public/files/`)
    .replaceAll('"../../files/', `"${root}/tools/organization/files/`)
    .replaceAll('"../../upstream/', `"${root}/tools/organization/upstream/`)

async function passOn({ status, body }: Response, response: ServerResponse): Promise<void> {
  response.writeHead(status, { 'content-type': 'application/octet-stream' })
  if (body) await pipeline(Readable.from(body), response)
  else response.end()
}
