import { detectDocument } from '../../shared/documents/document-types.ts'
import type { PinnedOperation, ToolOf } from '../../platform/tools/tool-definitions.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import { sendRequest } from '../../shared/outgoing/send-request.ts'
import type { OutgoingResponse } from '../../shared/outgoing/send-request.ts'
import { tokenHeader } from '../../shared/outgoing/token-header.ts'
import { documentText } from './document-answer.ts'
import { htmlToText } from './html-text.ts'
import { cutResult, toolError } from './tool.ts'
import type { CrewTool, ToolAnswer, ToolArguments } from './tool.ts'
import { timeoutMsOf, tokenOf } from './tool-deps.ts'
import type { ToolDeps } from './tool-deps.ts'

const RESPONSE_BYTES_MAX = 1_048_576

interface HttpFunction {
  readonly key: string
  /** As the model sees it. */
  readonly name: string
  readonly operation: PinnedOperation
}

/** Creates the function that calls one operation of an HTTP service. */
export function createHttpTool(
  deps: ToolDeps,
  tool: ToolOf<'http'>,
  { key, name, operation }: HttpFunction,
): CrewTool {
  return {
    name,
    key,
    type: 'http',
    description: operation.description ?? '',
    parameters: operation.input_schema,
    timeoutMs: timeoutMsOf(tool),
    async call({ arguments: given, idempotencyKey, signal }) {
      const token = tokenOf(deps, tool.connection)
      const url = urlOf(tool.pinned?.base_url ?? '', operation, given)
      const hasBody =
        Object.hasOwn(given, 'body') && !operation.parameters.some((each) => each.name === 'body')
      const response = await sendRequest({
        url,
        method: operation.method,
        headers: {
          ...headersOf(operation, given),
          accept: 'application/json, text/*;q=0.9',
          'accept-encoding': 'identity',
          'idempotency-key': idempotencyKey,
          ...(hasBody ? { 'content-type': 'application/json' } : {}),
          ...tokenHeader(token),
        },
        body: hasBody ? JSON.stringify(given['body']) : undefined,
        responseBytesMax: RESPONSE_BYTES_MAX,
        signal,
        route: await deps.guard.pin(url, { subject: url.host, signal }),
      })
      const answered = await withText(response, deps, { name: operation.name, signal })
      return toAnswer(answered, token !== undefined)
    },
  }
}

/** The values that a call has for the parameters of one place. */
function valuesIn(
  place: PinnedOperation['parameters'][number]['in'],
  { parameters }: PinnedOperation,
  given: ToolArguments,
): [name: string, value: unknown][] {
  return parameters
    .filter((each) => each.in === place && Object.hasOwn(given, each.name))
    .map(({ name }) => [name, given[name]])
}

function urlOf(baseUrl: string, operation: PinnedOperation, given: ToolArguments): URL {
  const values = new Map(valuesIn('path', operation, given))
  const path = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const text = show(values.get(name))
    // As a whole part of the path they would lead to another operation.
    if (text === '' || text === '.' || text === '..') {
      throw toolError(`${name} must not be ${text === '' ? 'empty' : text}.`)
    }
    return encodeURIComponent(text)
  })
  // Else it would be a part of the host: `@evil.example`.
  if (!path.startsWith('/')) {
    throw toolError(`${path.slice(0, 200)} is no path of ${operation.name}.`)
  }
  const base = readAddress(baseUrl, 'The address of the tool')
  const url = new URL(base.href.replace(/\/$/, '') + path)
  for (const [name, value] of valuesIn('query', operation, given)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      url.searchParams.append(name, show(each))
    }
  }
  return url
}

function headersOf(operation: PinnedOperation, given: ToolArguments): Record<string, string> {
  return Object.fromEntries(
    valuesIn('header', operation, given).map(([name, value]) => {
      const text = show(value)
      if (/[^\t\x20-\x7e]/.test(text)) throw toolError(`${name} must be printable ASCII.`)
      return [name.toLowerCase(), text]
    }),
  )
}

const show = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

/** Puts the text of a document in its place. */
async function withText(
  response: OutgoingResponse,
  { readDocument }: ToolDeps,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): Promise<OutgoingResponse> {
  const { headers, body: bytes, isCut } = response
  const mediaType = headers['content-type'] ?? ''
  if (IS_TEXT.test(mediaType.toLowerCase()) || !detectDocument(bytes)) return response
  const text = await documentText({ name, mediaType, bytes, isCut }, readDocument, signal)
  return { ...response, headers: { 'content-type': 'text/plain' }, body: Buffer.from(text) }
}

const IS_TEXT = /^$|json|xml(?!formats)|text\/|yaml|javascript/

function toAnswer(
  { status, headers, body, isCut }: OutgoingResponse,
  hadToken: boolean,
): ToolAnswer {
  const type = (headers['content-type'] ?? '').toLowerCase()
  const raw = body.toString('utf8')
  const text = type.startsWith('text/html') ? htmlToText(raw) : raw
  const isText = IS_TEXT.test(type)
  const shown = isText
    ? cutResult(text)
    : `(The answer is ${type.slice(0, 100)}, which is no text.)`
  const note = isCut ? `\n(Only the first ${RESPONSE_BYTES_MAX} bytes were read.)` : ''
  return {
    text: `HTTP ${status}${hintOf(status, hadToken)}\n${shown}${note}`,
    isError: status < 200 || status > 299,
  }
}

function hintOf(status: number, hadToken: boolean): string {
  if (status >= 300 && status < 400) return ' (redirects are not followed)'
  if (status !== 401) return ''
  return hadToken ? ' (the connection must be connected again)' : ' (the tool has no connection)'
}
