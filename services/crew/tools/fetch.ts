import type { ToolOf } from '../../platform/tools/tool-definitions.ts'
import { sendRequest } from '../../shared/outgoing/send-request.ts'
import type { OutgoingResponse } from '../../shared/outgoing/send-request.ts'
import { isAllowed } from '../../shared/outgoing/allowed-places.ts'
import { htmlToText } from './html-text.ts'
import { documentText } from './document-answer.ts'
import { answer, cutResult, toolError } from './tool.ts'
import type { CrewTool } from './tool.ts'
import { timeoutMsOf } from './tool-deps.ts'
import type { ToolDeps } from './tool-deps.ts'

/** Of a text; a document is read as a whole. */
const BYTES_MAX = 1_048_576
const DOCUMENT_BYTES_MAX = 4_194_304
const REDIRECTS_MAX = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Creates the tool that reads pages of the places that its definition allows. */
export function createFetch(deps: ToolDeps, key: string, tool: ToolOf<'fetch'>): CrewTool {
  const places = tool.allow.join(', ')
  return {
    name: key,
    key,
    type: 'fetch',
    description: `Reads a web page or a document as text. Only these may be read: ${places}`,
    parameters: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'An absolute URL', maxLength: 2000 },
        start: {
          type: 'integer',
          minimum: 0,
          description: 'Characters to leave out at the beginning, to read on in a long text',
        },
      },
      required: ['url'],
      additionalProperties: false,
    },
    timeoutMs: timeoutMsOf(tool),
    async call({ arguments: { url, start = 0 }, signal }) {
      const page = await get(deps, { url: String(url), allow: tool.allow, signal })
      const { text, isCut } = await textOf(page, deps, signal)
      const skipped = Number(start)
      const shown = cutResult(text.slice(skipped))
      const note = isCut ? `\n(Only the first ${BYTES_MAX} bytes were read.)` : ''
      return answer(`${page.url.href}\n\n${shown}${note}`)
    },
  }
}

interface Wanted {
  readonly url: string
  readonly allow: readonly string[]
  readonly signal: AbortSignal
}

/** Follows redirects, each checked as the first address was. */
async function get({ guard }: ToolDeps, { url: first, allow, signal }: Wanted) {
  let url = parseUrl(first)
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    if (!isAllowed(url, allow)) {
      throw toolError(`${url.href} may not be read. Allowed are: ${allow.join(', ')}.`)
    }
    const response = await sendRequest({
      url,
      headers: {
        accept:
          'text/html, text/markdown, text/plain, application/json, text/*;q=0.8, ' +
          'application/pdf;q=0.7, application/*;q=0.5',
        'accept-encoding': 'identity',
        'user-agent': 'crew-platform',
      },
      responseBytesMax: DOCUMENT_BYTES_MAX,
      signal,
      route: await guard.pin(url, { subject: url.host, signal }),
    })
    const { location } = response.headers
    if (!REDIRECTS.has(response.status) || location === undefined) return { url, response }
    url = parseUrl(location, url.href)
  }
  throw toolError(`${first} redirects more than ${REDIRECTS_MAX} times.`)
}

function parseUrl(text: string, base?: string): URL {
  if (!URL.canParse(text, base)) throw toolError(`${text.slice(0, 200)} is no absolute URL.`)
  const url = new URL(text, base)
  url.hash = ''
  return url
}

const TEXT = /^(text\/|application\/(.*\+)?(json|xml|yaml)\b|application\/(x-)?(javascript|ndjson))/

interface Page {
  readonly url: URL
  readonly response: OutgoingResponse
}

async function textOf(
  { url, response }: Page,
  { readDocument }: Pick<ToolDeps, 'readDocument'>,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const { status, headers, body } = response
  const [type = '', ...parameters] = (headers['content-type'] ?? 'text/plain').split(';')
  const mediaType = type.trim().toLowerCase()
  if (status < 200 || status > 299) throw toolError(`The server answers with HTTP ${status}.`)
  if (!TEXT.test(mediaType)) {
    const name = url.pathname.split('/').at(-1) || url.host
    const answered = { name, mediaType, bytes: body, isCut: response.isCut }
    return { text: await documentText(answered, readDocument, signal), isCut: false }
  }
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(parameters.join(';'))?.[1] ?? 'utf-8'
  const text = decode(body.subarray(0, BYTES_MAX), charset)
  const isHtml = mediaType === 'text/html' || mediaType === 'application/xhtml+xml'
  return { text: isHtml ? htmlToText(text) : text, isCut: body.length > BYTES_MAX }
}

function decode(body: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return body.toString('utf8')
  }
}
