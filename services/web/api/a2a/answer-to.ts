import { AppError, toError } from '../../../shared/errors.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { Fields, RpcError } from '../json-rpc.ts'
import type { A2aCall } from './call.ts'
import type { Updates } from './follow-task.ts'
import { OPERATIONS } from './operations.ts'
import type { Answer } from './operations.ts'
import { tell } from './refusals.ts'
import type { Told } from './refusals.ts'

/** The form in which answers are written. */
export interface Binding {
  readonly type: string
  toResult(result: Fields): object
  toError(told: Told): object
  readonly statusOf: (told: Told) => 200 | Told['status']
}

/** What is asked for, or why it cannot be read. */
type Asked = { readonly method: string; readonly params: Fields } | { readonly error: RpcError }

/** Reads a call, performs its operation, and writes what it comes to. */
export async function answerTo(
  call: A2aCall,
  binding: Binding,
  read: () => Promise<Asked>,
): Promise<Response> {
  const { c } = call
  try {
    const asked = await read()
    const operation = 'method' in asked ? findOperation(asked.method) : undefined
    if (!operation || !('method' in asked)) return refuse(unknown(asked))
    const answer = await operation(call, asked.params)
    if ('result' in answer) {
      return c.body(JSON.stringify(binding.toResult(answer.result)), 200, typeOf(binding.type))
    }
    return write(call, binding, answer)
  } catch (thrown) {
    return refuse(tell(thrown), thrown instanceof AppError ? thrown.headers : {})
  }

  function refuse(told: Told, headers: Readonly<Record<string, string>> = {}): Response {
    c.var.wide['a2a_error'] = told.code
    const body = JSON.stringify(binding.toError(told))
    return c.body(body, binding.statusOf(told), { ...headers, ...typeOf(binding.type) })
  }
}

const typeOf = (type: string) => ({ 'content-type': type })

const findOperation = (method: string) =>
  Object.hasOwn(OPERATIONS, method) ? OPERATIONS[method] : undefined

function unknown(asked: Asked): Told {
  const base = { status: 404 as const, name: 'NOT_FOUND', details: [] }
  if ('error' in asked) return { ...base, ...asked.error }
  const shown = asked.method === '' ? 'at this address' : asked.method
  const known = Object.keys(OPERATIONS).join(', ')
  const message = `There is no operation ${shown}. A2A 1.0 has ${known}.`
  return { ...base, code: RPC_CODES.unknownMethod, message }
}

/** Writes what is not known yet: as a stream of events, or as a body that keeps its reader. */
function write(call: A2aCall, binding: Binding, answer: Exclude<Answer, { result: Fields }>) {
  const isStream = 'stream' in answer
  const updates = isStream ? answer.stream : answer.later
  const chunks = toChunks(updates, {
    // Blanks before JSON mean nothing, but that the answer is still to come.
    beat: isStream ? ': still here\n\n' : ' ',
    toText(update) {
      const text = JSON.stringify(update)
      return isStream ? `data: ${text}\n\n` : text
    },
    binding,
    breakOff(thrown) {
      const reason = toError(thrown).message
      call.deps.log.warn({ reason }, 'the answer about a task broke off')
    },
  })
  return call.c.body(ReadableStream.from(chunks), 200, {
    'content-type': isStream ? 'text/event-stream' : binding.type,
    // Proxies of nginx's kind would keep the events back to fill their buffers.
    'x-accel-buffering': 'no',
  })
}

interface Form {
  readonly beat: string
  readonly toText: (update: object) => string
  readonly binding: Binding
  readonly breakOff: (thrown: unknown) => void
}

const BROKEN: Told = {
  code: RPC_CODES.internal,
  message: 'The platform cannot follow the task right now, which keeps running. Get it later.',
  status: 503,
  name: 'UNAVAILABLE',
  details: [],
}

async function* toChunks(
  updates: Updates,
  { beat, toText, binding, breakOff }: Form,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  try {
    for await (const update of updates) {
      yield encoder.encode(update === undefined ? beat : toText(binding.toResult(update)))
    }
  } catch (thrown) {
    breakOff(thrown)
    yield encoder.encode(toText(binding.toError(BROKEN)))
  }
}
