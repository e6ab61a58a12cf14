import * as v from 'valibot'
import { parseCrewEvent } from '../platform/crew-contract/crew-event.ts'
import type { OtherEvent } from '../platform/crew-contract/crew-event.ts'
import {
  HEARTBEAT_MS,
  LINE_CHARACTERS_MAX,
  SILENCE_MS,
} from '../platform/crew-contract/crew-protocol.ts'
import type { CrewEvent } from '../platform/crew-contract/crew-protocol.ts'
import { deadline } from '../shared/deadline.ts'
import { describeIssue } from '../shared/describe-issue.ts'
import { AppError, toError } from '../shared/errors.ts'
import { postLines } from '../shared/http/post-lines.ts'
import type { LineAnswer } from '../shared/http/post-lines.ts'
import { readLineBatches, readLines } from '../shared/http/read-lines.ts'

const ANSWER_MS = 10_000
const LINES_MAX = 20_000
const REFUSAL_CHARACTERS_MAX = 65_536

/** A line of a crew: an event, or why it is none. */
export interface HeardLine {
  /** 1 for the first. */
  readonly number: number
  readonly event?: CrewEvent | OtherEvent
  readonly problem?: string
}

/** What happened to an attempt at a run, as a worker sees it. */
export interface Attempt {
  /** 0 when the crew did not answer. */
  readonly status: number
  readonly contentType: string
  readonly lines: readonly HeardLine[]
  /** Why nothing more was read; empty when the crew ended its answer. */
  readonly cut: string
}

/** How a worker behaves in an attempt. */
export interface Behaviour {
  readonly url: string
  readonly token: string
  /** The kickoff, an object or a text as it is sent. */
  readonly kickoff: object | string
  /** The body stays open, and events are acknowledged. */
  readonly isOpen: boolean
  readonly timeoutMs: number
  /** Hears each line and answers it. @default acknowledges it at once */
  readonly hear?: (line: HeardLine, worker: Worker) => void
}

/** What a worker may do while a run goes on. */
interface Worker {
  readonly tell: (line: { readonly ack?: number; readonly stop?: true }) => void
  /** Ends the connection. */
  readonly leave: () => void
}

/** Acknowledges an event. */
export function acknowledge({ event }: HeardLine, { tell }: Worker): void {
  if (event?.seq !== undefined) tell({ ack: event.seq })
}

/** Makes an attempt at a run. Never raises. */
export async function attemptRun(behaviour: Behaviour): Promise<Attempt> {
  const leaving = new AbortController()
  const answer = await post(behaviour, leaving).catch((thrown: unknown) => explain(thrown))
  if (typeof answer === 'string') return { status: 0, contentType: '', lines: [], cut: answer }
  const { status, contentType } = answer
  const heard: HeardLine[] = []
  const isStream = status === 200 && contentType.startsWith('application/x-ndjson')
  const timer = setTimeout(() => leaving.abort(), behaviour.timeoutMs)
  try {
    const cut = isStream ? await listen(behaviour, { answer, leaving, heard }) : await skip(answer)
    return { status, contentType, lines: heard, cut }
  } finally {
    clearTimeout(timer)
    answer.close()
  }
}

async function post(behaviour: Behaviour, leaving: AbortController): Promise<LineAnswer> {
  const { url, token, kickoff, isOpen } = behaviour
  return deadline({ name: 'The crew', timeoutMs: ANSWER_MS }, async (signal) =>
    postLines({
      url: new URL(`${url}/kickoff`),
      token,
      document: typeof kickoff === 'string' ? kickoff : JSON.stringify(kickoff),
      keepAliveMs: isOpen ? HEARTBEAT_MS : undefined,
      signal: AbortSignal.any([leaving.signal, signal]),
    }),
  )
}

interface Open {
  readonly answer: LineAnswer
  readonly leaving: AbortController
  /** Filled with what is heard. */
  readonly heard: HeardLine[]
}

async function listen(behaviour: Behaviour, { answer, leaving, heard }: Open): Promise<string> {
  const { hear = acknowledge, timeoutMs } = behaviour
  let hasLeft = false
  const worker: Worker = {
    tell: answer.tell,
    leave() {
      hasLeft = true
      leaving.abort()
    },
  }
  const limits = {
    charactersMax: LINE_CHARACTERS_MAX,
    silenceMs: SILENCE_MS,
    signal: leaving.signal,
  }
  try {
    for await (const texts of readLineBatches(answer.body, limits)) {
      for (const text of texts) {
        const line = { number: heard.length + 1, ...read(text) }
        heard.push(line)
        hear(line, worker)
        if (heard.length >= LINES_MAX) return `It wrote ${LINES_MAX} lines and more.`
      }
    }
  } catch (thrown) {
    return `The answer could not be read on: ${toError(thrown).message}.`
  }
  if (hasLeft) return 'The connection was closed from here.'
  return leaving.signal.aborted ? `It did not end within ${timeoutMs / 1000} s.` : ''
}

function read(text: string): Pick<HeardLine, 'event' | 'problem'> {
  try {
    return { event: parseCrewEvent(text) }
  } catch (thrown) {
    if (!(thrown instanceof v.ValiError)) return { problem: `is no JSON: ${shorten(text)}` }
    const issues = (thrown as v.ValiError<v.GenericSchema>).issues.slice(0, 5)
    return { problem: issues.map((issue) => describeIssue(issue, 'event')).join('; ') }
  }
}

const shorten = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)

/** Reads what a refusal says, so that the connection ends in order. */
async function skip({ body }: LineAnswer): Promise<string> {
  const limits = {
    charactersMax: REFUSAL_CHARACTERS_MAX,
    silenceMs: ANSWER_MS,
    signal: AbortSignal.timeout(ANSWER_MS),
  }
  try {
    for await (const line of readLines(body, limits)) return shorten(line)
  } catch {
    // The status says enough.
  }
  return ''
}

function explain(thrown: unknown): string {
  if (thrown instanceof AppError && thrown.code === 'timeout') {
    return (
      `It did not begin to answer within ${ANSWER_MS / 1000} s. The headers of the answer go out ` +
      'at once, before the body of the request has ended.'
    )
  }
  const { message } = toError(thrown)
  return `It cannot be reached: ${message}.`
}
