import type { IncomingMessage } from 'node:http'
import { createOutgoingGuard } from '../../../../shared/outgoing/guard.ts'
import { createTurns } from '../../../../shared/outgoing/turns.ts'
import {
  findUpstreamPage,
  keepUpstreamPage,
  makeUpstreamRoom,
  renewUpstreamPage,
} from '../../../../platform/tools/upstream-packages.ts'
import type { KeptPage, UpstreamFile } from '../../../../platform/tools/upstream-packages.ts'
import { deadline } from '../../../../shared/deadline.ts'
import { toError } from '../../../../shared/errors.ts'
import { readBody } from '../../../../shared/outgoing/send-request.ts'
import type { ListFiles, PublicIndexOptions, IndexDeps } from './index-deps.ts'
import { openFile } from './open-file.ts'
import type { SentFile, WantedFile } from './open-file.ts'
import { callIndex, failed, requireOk } from './call-index.ts'
import { ACCEPT, readUpstreamPage } from './read-page.ts'

const TURNS = {
  concurrent: 16,
  waitingMax: 512,
  busy: 'Too many packages are being fetched from the public index. Try again.',
}

/** Reads packages from a public index, and keeps what was read. */
export interface PublicIndex {
  readonly list: ListFiles
  /**
   * Opens a file. Its last part comes only once all of it had the right SHA-256. Raises
   * `not_found` and `bad_gateway`.
   */
  open(wanted: WantedFile, subject: string): Promise<SentFile>
}

const toBasic = ({ username, password }: { username: string; password: string }): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/**
 * Opens the public index of the operator. Calls go to public addresses, to the index itself
 * wherever it is, and to origins that the operator lists.
 */
export function createPublicIndex({
  url,
  credential,
  privateOrigins,
  proxy,
  ...options
}: PublicIndexOptions): PublicIndex {
  const base = new URL(`${url}/`)
  const guard = createOutgoingGuard({
    privateOrigins: [base.origin, ...privateOrigins],
    setting: 'TOOLS_UPSTREAM_PRIVATE_ORIGINS (chart: outgoing.indexPrivateOrigins)',
    proxy,
  })
  const signIn = credential && { origin: base.origin, authorization: toBasic(credential) }
  const deps = { ...options, base, guard, signIn, takeTurn: createTurns(TURNS) }
  const list = createPages(deps)
  return {
    list,
    open: (wanted, subject) =>
      openFile(deps, wanted, { subject, list: () => list(wanted.name, subject) }),
  }
}

const FRESH_SECONDS = 600
const PAGE_MS = 25_000
const PAGE_BYTES_MAX = 32 * 2 ** 20

/**
 * Creates what lists the files of a name: as they were kept while that is fresh, and longer while
 * the index does not answer.
 */
function createPages(deps: IndexDeps): ListFiles {
  const { sql, log, takeTurn } = deps
  const asked = new Map<string, Promise<readonly UpstreamFile[]>>()

  async function list(name: string, subject: string): Promise<readonly UpstreamFile[]> {
    const kept = await findUpstreamPage(sql, name)
    if (kept && kept.ageSeconds < FRESH_SECONDS) return kept.files ?? []
    try {
      return await takeTurn(subject, () => fetchPage(deps, { name, kept, subject }))
    } catch (thrown) {
      if (!kept?.files) throw thrown
      log.warn({ err: toError(thrown), name }, 'a kept page of the public index is shown')
      return kept.files
    }
  }

  return async function listOnce(name, subject) {
    const going = asked.get(name)
    if (going) return going
    const listing = list(name, subject).finally(() => asked.delete(name))
    asked.set(name, listing)
    return listing
  }
}

interface WantedPage {
  readonly name: string
  readonly kept: KeptPage | undefined
  readonly subject: string
}

async function fetchPage(deps: IndexDeps, wanted: WantedPage) {
  const { sql, base, guard, signIn, bytesMax } = deps
  const { name, kept, subject } = wanted
  return deadline({ name: 'public index', timeoutMs: PAGE_MS }, async (signal) => {
    const headers: Record<string, string> = { accept: ACCEPT }
    if (kept?.etag) headers['if-none-match'] = kept.etag
    const page = new URL(`${name}/`, base)
    const { url, answer } = await callIndex({ url: page, headers, guard, signIn, subject, signal })
    if (answer.statusCode === 304 && kept) {
      answer.destroy()
      await renewUpstreamPage(sql, name)
      return kept.files ?? []
    }
    const files = answer.statusCode === 404 ? null : await readFiles(name, url, answer)
    answer.destroy()
    await keepUpstreamPage(sql, name, { files, etag: answer.headers.etag ?? null })
    await makeUpstreamRoom(sql, { bytesMax, needed: 0 })
    return files ?? []
  })
}

async function readFiles(name: string, url: URL, answer: IncomingMessage) {
  requireOk(url, answer)
  const { body, isCut } = await readBody(answer, PAGE_BYTES_MAX)
  if (isCut) throw failed(url, `its page of ${name} has more than ${PAGE_BYTES_MAX} bytes`)
  const type = answer.headers['content-type'] ?? ''
  return readUpstreamPage({ name, url, type, body: body.toString('utf8') })
}
