import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fillIn } from '../../../../../services/platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import { startHttpServer } from '../../../../support/http-server.ts'

/** A call of a tool, by the name that its server has for it. */
interface ScriptedCall {
  readonly name: string
  readonly arguments: unknown
}

/** What a model answers for each task of a project. */
export interface Script {
  readonly inputs?: Readonly<Record<string, unknown>>
  /** Tasks that are answered only when all of them have asked. */
  readonly beside?: readonly string[]
  readonly tasks: Readonly<Record<string, ScriptedTask>>
  /** What a coworker answers, by what it is asked to do. */
  readonly delegated?: Readonly<Record<string, string>>
  /** What is said of each output that is held against a guardrail, by its instruction. */
  readonly judged?: Readonly<Record<string, readonly object[]>>
}

interface ScriptedTask {
  readonly calls?: readonly ScriptedCall[][]
  /** What each attempt says, when guardrails send one back. */
  readonly outputs?: readonly string[]
  readonly output: string
}

/** What a model was told of a task, and what it did. */
export interface SeenTask {
  readonly task: string
  /** Which texts of the definition it was told. */
  readonly told: Readonly<Record<'role' | 'goal' | 'backstory' | 'expected_output', boolean>>
  /** The tasks whose outputs it was given, in this order. */
  readonly context: readonly string[]
  /** The texts of the crew's knowledge that it was given, if the crew has knowledge. */
  readonly knowledge?: readonly string[]
  readonly calls: readonly { readonly name: string; arguments: unknown; result: string }[]
}

/** What a model was asked as a coworker, or as the judge of an output. */
export interface SeenAside {
  readonly aside: string
  /** The roles of the agents that the model was told to be one of. */
  readonly role?: readonly string[]
  /** The scripted output that it had to judge. */
  readonly output?: string | undefined
}

interface Message {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { readonly function: { name: string; arguments: string } }[]
}

interface Request {
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

/** What CrewAI says before it searches what an agent knows. */
const ABOUT_KNOWLEDGE = 'optimized for retrieval from a vector database'
const TOGETHER_MS = 60_000

/**
 * Starts a model that plays the script of a project, and keeps what it was asked. It knows a task
 * by its description, as the definition has it with its inputs filled in.
 */
export async function startScriptedModel(definition: CrewDefinition, script: Script) {
  const inputs = definitionInputs(definition, script)
  const seen = new Map<string, SeenTask>()
  const asides: SeenAside[] = []
  const together = meeting(script.beside ?? [])
  const server = await startHttpServer((incoming, response) => {
    readJson(incoming)
      .then((request) =>
        incoming.url?.endsWith('/embeddings')
          ? sendEmbeddings(response, request as { input: readonly string[] })
          : reply(request as Request, response),
      )
      .catch((thrown: unknown) => response.writeHead(400).end(String(thrown)))
  })

  async function reply(request: Request, response: ServerResponse): Promise<void> {
    const aside = replyAside(request)
    if (aside !== undefined) return send(response, request, { content: aside })
    const user = textOf(request.messages, 'user')
    const task = definition.tasks.find(({ description }) =>
      user.includes(`Task: ${fillIn(description, inputs)}`),
    )
    const part = task && script.tasks[task.key]
    if (!task || !part) return void response.writeHead(400).end(`no task in: ${user}`)
    seen.set(task.key, { ...toldOf(definition, { request, inputs, task: task.key, script }) })
    await together(task.key)
    const turn = request.messages.filter(({ tool_calls = [] }) => tool_calls.length > 0).length
    const calls = part.calls?.[turn]
    const said = textOf(request.messages, 'user', 'assistant')
    const attempt = part.outputs?.findIndex((output) => !said.includes(output)) ?? -1
    send(response, request, calls ? { calls } : { content: part.outputs?.[attempt] ?? part.output })
  }

  /** Answers as a coworker or as a judge; undefined when a task of its own is asked for. */
  function replyAside({ messages }: Request): string | undefined {
    const all = textOf(messages, 'system', 'user')
    if (all.includes(ABOUT_KNOWLEDGE)) return 'what is known'
    const task = Object.keys(script.delegated ?? {}).find((key) => all.includes(`Task: ${key}`))
    if (task !== undefined) {
      const roles = definition.agents.map(({ role }) => fillIn(role, inputs))
      asides.push({ aside: task, role: roles.filter((role) => all.includes(`You are ${role}.`)) })
      return script.delegated?.[task]
    }
    const instruction = Object.keys(script.judged ?? {}).find((key) => all.includes(key))
    if (instruction === undefined) return undefined
    const before = asides.filter(({ aside }) => aside === instruction).length
    const outputs = Object.values(script.tasks).flatMap((each) => each.outputs ?? [each.output])
    asides.push({ aside: instruction, output: outputs.find((output) => all.includes(output)) })
    return JSON.stringify(script.judged?.[instruction]?.[before])
  }

  return {
    baseUrl: `${server.url}/v1`,
    inputs,
    /** What was asked; tasks that ask at the same time are in the order of their names. */
    seen: (): SeenTask[] => sortBeside([...seen.values()], script.beside ?? []),
    /** What it was asked beside the tasks, in this order. */
    asides: (): readonly SeenAside[] => asides,
    stop: () => server.stop(),
  }
}

function definitionInputs({ inputs = [] }: CrewDefinition, script: Script) {
  const defaults = inputs.flatMap((each) =>
    typeof each === 'string' ? [] : [[each.name, each.default] as const],
  )
  return { ...Object.fromEntries(defaults), ...script.inputs }
}

/** Lets those who are expected go on when all of them are there. */
function meeting(expected: readonly string[]): (who: string) => Promise<void> {
  const missing = new Set(expected)
  const bell = new EventEmitter()
  return async (who) => {
    if (!expected.includes(who)) return
    missing.delete(who)
    if (missing.size === 0) bell.emit('together')
    else await once(bell, 'together', { signal: AbortSignal.timeout(TOGETHER_MS) })
  }
}

interface Asked {
  readonly request: Request
  readonly inputs: Readonly<Record<string, unknown>>
  readonly task: string
  readonly script: Script
}

function toldOf({ agents, tasks, knowledge }: CrewDefinition, asked: Asked): SeenTask {
  const { request, inputs, script } = asked
  const user = textOf(request.messages, 'user')
  const all = `${textOf(request.messages, 'system')}\n${user}`
  const task = tasks.find(({ key }) => key === asked.task)
  const agent = agents.find(({ key }) => key === task?.agent)
  const isTold = (text = ''): boolean => all.includes(fillIn(text, inputs))
  return {
    task: asked.task,
    told: {
      role: isTold(agent?.role),
      goal: isTold(agent?.goal),
      backstory: isTold(agent?.backstory),
      expected_output: isTold(task?.expected_output),
    },
    context: Object.entries(script.tasks)
      .map(([key, { output }]) => ({ key, at: user.indexOf(output) }))
      .filter(({ key, at }) => at >= 0 && key !== asked.task)
      .toSorted((a, b) => a.at - b.at)
      .map(({ key }) => key),
    ...(knowledge && {
      knowledge: Object.entries(knowledge).flatMap(([key, { text }]) =>
        isTold(text) ? [key] : [],
      ),
    }),
    calls: callsOf(request.messages, script.tasks[asked.task]?.calls?.flat() ?? []),
  }
}

/** Servers' names before those of tools are left out. */
function callsOf(messages: readonly Message[], scripted: readonly ScriptedCall[]) {
  const results = messages
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content))
  const asked = messages.flatMap(({ tool_calls = [] }) => tool_calls)
  return asked.map(({ function: { name, arguments: given } }, index) => ({
    name: scripted.find((each) => name.endsWith(each.name))?.name ?? name,
    arguments: JSON.parse(given) as unknown,
    result: results[index] ?? '',
  }))
}

const textOf = (messages: readonly Message[], ...roles: readonly string[]): string =>
  messages
    .filter(({ role }) => roles.includes(role))
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    .join('\n')

function send(
  response: ServerResponse,
  { model, tools = [] }: Request,
  { content = null, calls = [] }: { content?: string | null; calls?: readonly ScriptedCall[] },
): void {
  const tool_calls = calls.map(({ name, arguments: given }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: {
      name: tools.find((each) => each.function.name.endsWith(name))?.function.name ?? name,
      arguments: JSON.stringify(given),
    },
  }))
  const message = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls } : {}) }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  response.setHeader('content-type', 'application/json')
  const choices = [{ index: 0, message, finish_reason }]
  response.end(
    JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model, choices, usage }),
  )
}

/** All texts are alike, so that a search finds each. */
function sendEmbeddings(response: ServerResponse, { input }: { input: readonly string[] }): void {
  const embedding = Buffer.from(new Float32Array([1, 0]).buffer).toString('base64')
  const data = input.map((_, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: 1, total_tokens: 1 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ object: 'list', model: 'x', data, usage }))
}

function sortBeside(seen: readonly SeenTask[], beside: readonly string[]): SeenTask[] {
  const names = seen
    .map(({ task }) => task)
    .filter((task) => beside.includes(task))
    .toSorted()
  return seen.map((each) => {
    const name = beside.includes(each.task) ? names.shift() : undefined
    return seen.find(({ task }) => task === name) ?? each
  })
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}
