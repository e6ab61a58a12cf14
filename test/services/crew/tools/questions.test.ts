import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { inputRequired } from '@modelcontextprotocol/server'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { parseCrewEvent } from '../../../../services/platform/crew-contract/crew-event.ts'
import type {
  CrewEvent,
  RecordedStep,
} from '../../../../services/platform/crew-contract/crew-protocol.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { schemaProblem } from '../../../../services/shared/json-schema.ts'
import { readQuestions } from '../../../../services/shared/mcp/elicitation.ts'
import { messageText } from '../../../../services/shared/models/llm-call.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { startMcpServer2026 } from '../../../support/mcp-server-2026.ts'
import { journalOf, modelHere, runHere } from '../run-here.ts'

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const BOOK = { name: 'book', inputSchema: { type: 'object' as const, properties: {} } }
const FORM = {
  type: 'object' as const,
  properties: {
    seats: { type: 'integer' as const, title: 'Seats' },
    window: { type: 'boolean' as const },
  },
  required: ['seats'],
}
const seats = inputRequired.elicit({ message: 'How many seats?', requestedSchema: FORM })

type Answer = NonNullable<NonNullable<Parameters<typeof startMcpServer2026>[1]>['answer']>

async function serverThat(answer: Answer) {
  const server = await startMcpServer2026([BOOK], { answer })
  opened.push(() => server.stop())
  return server
}

/** A crew whose model books once by the server, and repeats what the tool answered. */
function crewAt(address: string, more: { readonly timeout_seconds?: number } = {}) {
  const url = new URL(address)
  const definition: CrewDefinition = {
    name: 'Crew',
    llm: { model: 'test-model' },
    tools: {
      travel: {
        type: 'mcp',
        url: address,
        tools: ['book'],
        connection: 'travel',
        pinned: { tools: [{ name: 'book', input_schema: BOOK.inputSchema }] },
        ...more,
      },
    },
    agents: [{ key: 'ada', role: 'Ada', goal: 'Travel', tools: ['travel'] }],
    tasks: [{ key: 'task', agent: 'ada', description: 'Do it.', expected_output: 'A seat' }],
  }
  const { llm } = modelHere(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return messageText(last.content)
    return { toolCalls: [{ id: 'c', name: 'book', arguments: '{}' }] }
  })
  const journal: RecordedStep[] = []
  const all: CrewEvent[] = []
  return {
    all,
    journal,
    async attempt(
      options: { readonly stopping?: AbortSignal; readonly signal?: AbortSignal } = {},
    ) {
      const connections = { travel: { access_token: 'secret-token' } }
      const origins = [url.origin]
      const ran = await runHere({ definition, llm, journal, origins, connections, ...options })
      all.push(...ran.events)
      journal.push(...journalOf(ran.events))
      return ran
    },
    /** Answers what was asked last, as the platform does. */
    answer(given: object | undefined) {
      const asked = all.findLast((each) => each.type === 'approval_requested')
      const decision = given ? 'edit' : 'reject'
      const result = { decision, text: given && JSON.stringify(given), proposed: '{}' }
      journal.push({ step: asked?.step ?? '', kind: 'approval', result })
    },
  }
}

interface Seen {
  readonly method: string
  readonly params: unknown
  readonly name: unknown
}

/** A server of 2026-07-28 that answers calls, and what is about them, as a test says. */
async function rawServer(resultOf: (method: string) => object) {
  const seen: Seen[] = []
  let onRequest = (_method: string): void => {}
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = JSON.parse(await text(request)) as Seen & { id: number }
    seen.push({ method, params, name: request.headers['mcp-name'] })
    onRequest(method)
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'] }
        : method === 'tools/list'
          ? { tools: [BOOK] }
          : resultOf(method)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const server = await startHttpServer((request, response) => void answer(request, response))
  opened.push(() => server.stop())
  return {
    url: `${server.url}/mcp`,
    seen,
    onRequest: (listener: typeof onRequest) => (onRequest = listener),
  }
}

const PAGE = { message: 'Pay', url: 'https://x.test', elicitationId: 'e' }
const manyFields = (count: number, title = '') =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`f${at}`, { type: 'string', title }]),
  )
const asking = ({ message = 'Sure?', ...schema }: { message?: string; [key: string]: unknown }) => {
  const requestedSchema = { type: 'object', properties: { a: { type: 'string' } }, ...schema }
  return {
    inputRequests: { q: { method: 'elicitation/create', params: { message, requestedSchema } } },
  }
}
const sixQuestions = () =>
  Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, asking({}).inputRequests.q]))

describe('a question of an MCP server in the middle of a call', () => {
  it('lets the run wait, and takes the answer of a person to it with its state', async () => {
    const server = await serverThat(({ responses }) =>
      responses
        ? { content: [{ type: 'text', text: 'Booked.' }] }
        : inputRequired({ inputRequests: { seats }, requestState: 'state-1' }),
    )
    const crew = crewAt(server.url)
    const { asked, events } = await crew.attempt()
    expect(asked).toMatchObject({
      task: 'task',
      output: '{}',
      call: {
        name: 'book',
        tool: 'travel',
        question: { server: new URL(server.url).host, messages: { seats: 'How many seats?' } },
        parameters: { required: ['seats'], properties: { seats: FORM }, type: 'object' },
      },
    })
    // Those who follow the run, and those who read its approvals, see nothing of the state.
    const shown = events.filter(({ type }) => type !== 'step_finished')
    expect(JSON.stringify(shown)).not.toContain('state-1')
    expect(server.calls).toHaveLength(1)

    crew.answer({ seats: { seats: 2, window: true } })
    expect((await crew.attempt()).output).toBe('Booked.')
    const content = { seats: 2, window: true }
    expect(server.calls).toHaveLength(2)
    expect(server.calls.at(-1)).toMatchObject({
      responses: { seats: { action: 'accept', content } },
      requestState: 'state-1',
    })
    const keyOf = (meta: unknown) => JSON.stringify(meta).match(/"idempotency-key":"[^"]+"/)?.[0]
    const [first, again] = server.calls.map(({ meta }) => keyOf(meta))
    expect(again).toBe(first)
  })

  it('has any keys, such as those that objects have by themselves', async () => {
    const keyed = (value: unknown) =>
      Object.fromEntries(['__proto__', 'constructor', 'toString'].map((key) => [key, value]))
    const field = { type: 'string' }
    const { q } = asking({ properties: keyed(field) }).inputRequests
    const results = [
      { resultType: 'input_required', inputRequests: keyed(q) },
      { resultType: 'complete', content: [{ type: 'text', text: 'Booked.' }] },
    ]
    const server = await rawServer((method) => (method === 'tools/call' && results.shift()) || {})
    const crew = crewAt(server.url)
    const { asked } = await crew.attempt()
    // As the worker reads it.
    const read = parseCrewEvent(JSON.stringify(asked))
    expect(JSON.stringify(read)).toContain(`"messages":${JSON.stringify(keyed('Sure?'))}`)
    const { properties } = asked?.call?.parameters ?? {}
    const form = { type: 'object', properties: keyed(field), required: [] }
    const strict = keyed({ ...form, additionalProperties: false })
    expect(JSON.stringify(properties)).toBe(JSON.stringify(strict))
    crew.answer(keyed(keyed('yes')))
    expect((await crew.attempt()).output).toBe('Booked.')
    expect(JSON.stringify(server.seen.at(-1)?.params)).toContain(
      JSON.stringify(keyed({ action: 'accept', content: keyed('yes') })),
    )
  })

  it('is declined by one who declines, and the server says what comes of it', async () => {
    const server = await serverThat(({ responses }) =>
      responses
        ? { content: [{ type: 'text', text: 'Then not.' }], isError: true }
        : inputRequired({ inputRequests: { seats } }),
    )
    const crew = crewAt(server.url)
    await crew.attempt()
    crew.answer(undefined)
    expect((await crew.attempt()).output).toBe('Then not.')
    const last = server.calls.at(-1)
    expect(last?.responses).toEqual({ seats: { action: 'decline' } })
    expect(last?.requestState).toBeUndefined()
  })

  it('is asked five times in one call, and not for ever', async () => {
    const server = await serverThat(() => inputRequired({ inputRequests: { seats } }))
    const crew = crewAt(server.url)
    for (let asked = 1; asked <= 5; asked += 1) {
      expect((await crew.attempt()).asked?.task).toBe('task')
      crew.answer({ seats: { seats: asked } })
    }
    expect((await crew.attempt()).output).toBe(
      'The server of book asked 5 times in one call, and asks again. ' +
        'Let the tool take what it needs as arguments.',
    )
    expect(server.calls).toHaveLength(6)
  })

  it('may be none: then the call is made again with the state, and nobody is asked', async () => {
    const server = await serverThat(({ requestState }) =>
      requestState === 'later' ? { content: [] } : inputRequired({ requestState: 'later' }),
    )
    expect((await crewAt(server.url).attempt()).output).toBe('(The result is empty.)')
  })

  it.each<[string, object, string]>([
    ['a page', { inputRequests: { p: inputRequired.elicitUrl(PAGE) } }, 'URL'],
    ['too much text', asking({ message: 'x'.repeat(4001) }), 'params.message'],
    ['nested fields', asking({ properties: { a: { type: 'object' } } }), 'properties.a.type'],
    ['too many fields', asking({ properties: manyFields(31) }), 'properties'],
    ['too long a form', asking({ properties: manyFields(30, 'x'.repeat(900)) }), 'at most 16384'],
    ['a field that is not there', asking({ required: ['b'] }), 'required names a field'],
    ['too many questions', { inputRequests: sixQuestions() }, 'at most 5'],
    ['too long a state', { requestState: 'x'.repeat(65_537) }, 'more than 65536'],
    ['half a character', asking({ message: '\ud800' }), 'cannot be stored'],
    ['the token back', { requestState: 'of secret-token' }, 'repeats the access token'],
  ])('that cannot be asked is an error for the model: %s', async (_, wanted, problem) => {
    const server = await rawServer(() => ({ resultType: 'input_required', ...wanted }))
    const { output, asked } = await crewAt(server.url).attempt()
    expect(asked).toBeUndefined()
    expect(output).toContain(problem)
    expect(output?.length).toBeLessThan(500)
    expect(output).not.toContain('secret-token')
  })

  it('shows no token that its server repeats', async () => {
    const server = await rawServer(() => ({
      resultType: 'input_required',
      ...asking({ message: 'Is secret-token yours?' }),
    }))
    const crew = crewAt(server.url)
    await crew.attempt()
    expect(JSON.stringify(crew.all)).not.toContain('secret-token')
    expect(JSON.stringify(crew.all)).toContain('Is [token] yours?')
  })

  it('is read whatever a server sends: as forms, or as why it cannot be asked', () => {
    const request = fc.record({ method: fc.constant('elicitation/create'), params: fc.anything() })
    const requests = fc.dictionary(fc.string(), fc.oneof(request, fc.object()))
    fc.assert(
      fc.property(requests, (sent) => {
        const given = JSON.parse(JSON.stringify(sent)) as Parameters<typeof readQuestions>[0]
        try {
          const read = Object.values(readQuestions(given))
          expect(read.map(({ schema }) => schemaProblem(schema))).toEqual(read.map(() => undefined))
        } catch (thrown) {
          expect(String(thrown).length).toBeLessThan(600)
        }
      }),
      { numRuns: 50 },
    )
  })
})

/** A server of tasks: what it says of its task, one after the other. */
async function taskServer(...states: object[]) {
  const left = [...states]
  const server = await rawServer((method) => {
    if (method === 'tools/call') return { resultType: 'task', ...WORKING }
    if (method !== 'tasks/get') return {}
    return { ...WORKING, ...(left.length > 1 ? left.shift() : left[0]) }
  })
  const asked = () =>
    server.seen.map(({ method }) => method).filter((each) => /task|call/.test(each))
  return { ...server, asked }
}

const WORKING = { taskId: 'task-7', status: 'working', pollIntervalMs: 100 }
const done = (said: string) => ({
  status: 'completed',
  result: { content: [{ type: 'text', text: said }] },
})

describe('a task that a call of an MCP server becomes', () => {
  it('is asked for until it is done, by its name in a header', async () => {
    const server = await taskServer({}, {}, done('Booked.'))
    expect((await crewAt(server.url).attempt()).output).toBe('Booked.')
    expect(server.asked()).toEqual(['tools/call', 'tasks/get', 'tasks/get', 'tasks/get'])
    expect(server.seen.at(-1)).toMatchObject({ name: 'task-7', params: { taskId: 'task-7' } })
  })

  it('is waited for by the next crew when this one is replaced, and not begun again', async () => {
    const server = await taskServer({})
    const crew = crewAt(server.url)
    const stopping = new AbortController()
    server.onRequest((method) => {
      if (method === 'tasks/get') stopping.abort()
    })
    expect((await crew.attempt({ stopping: stopping.signal })).last?.type).toBe('handed_over')
    expect(server.asked()).toEqual(['tools/call', 'tasks/get'])
    const other = await taskServer(done('Booked.'))
    const next = crewAt(other.url)
    next.journal.push(...crew.journal)
    expect((await next.attempt()).output).toBe('Booked.')
    expect(other.asked()).toEqual(['tasks/get'])
  })

  it('is cancelled when the run is stopped', async () => {
    const server = await taskServer({})
    const stopped = new AbortController()
    server.onRequest((method) => {
      if (method === 'tasks/get') stopped.abort(new Error('stopped'))
    })
    await expect(crewAt(server.url).attempt({ signal: stopped.signal })).rejects.toThrow('stopped')
    expect(server.asked()).toEqual(['tools/call', 'tasks/get', 'tasks/cancel'])
  })

  it('is cancelled when it takes longer than its tool may', async () => {
    const server = await taskServer({})
    const { output } = await crewAt(server.url, { timeout_seconds: 1 }).attempt()
    expect(output).toBe('book did not answer within 1 s and was given up.')
    expect(server.asked().at(-1)).toBe('tasks/cancel')
  })

  it('that a former attempt gave up is begun anew, once', async () => {
    const server = await taskServer({ status: 'cancelled' })
    const crew = crewAt(server.url)
    expect((await crew.attempt()).output).toBe('The server gave up its task of book.')
    const record = crew.all.find(
      (each) => each.type === 'step_finished' && JSON.stringify(each.result).includes('task-7'),
    )
    if (record?.type !== 'step_finished') throw new Error('no record of the task')
    const next = crewAt(server.url)
    next.journal.push({ step: record.step, kind: 'tool', result: record.result })
    const before = server.asked().length
    expect((await next.attempt()).output).toBe('The server gave up its task of book.')
    expect(server.asked().slice(before)).toEqual(['tasks/get', 'tools/call', 'tasks/get'])
  })

  it('asks a person, once for each of its questions', async () => {
    const asks = { status: 'input_required', ...asking({ message: 'Sure?' }) }
    const server = await taskServer(asks, asks, done('Booked.'))
    const crew = crewAt(server.url)
    expect((await crew.attempt()).asked?.call?.question?.messages).toEqual({ q: 'Sure?' })
    crew.answer({ q: { a: 'yes' } })
    expect((await crew.attempt()).output).toBe('Booked.')
    expect(server.asked()).toEqual([
      'tools/call',
      'tasks/get',
      'tasks/update',
      'tasks/get',
      'tasks/get',
    ])
    const update = server.seen.find(({ method }) => method === 'tasks/update')
    expect(update?.params).toMatchObject({
      taskId: 'task-7',
      inputResponses: { q: { action: 'accept', content: { a: 'yes' } } },
    })
  })

  it.each<[string, object, string]>([
    ['failed', { status: 'failed', error: { code: 1, message: 'No seat.' } }, 'No seat.'],
    ['is another one', { taskId: 'task-8' }, 'a task that was not asked about'],
    ['is in no known state', { status: 'asleep' }, 'not valid (status)'],
    ['has no result', { status: 'completed' }, 'not valid (result)'],
  ])('that %s is an error for the model', async (_, state, problem) => {
    const server = await taskServer(state)
    expect((await crewAt(server.url).attempt()).output).toContain(problem)
  })
})
