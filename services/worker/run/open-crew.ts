import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import {
  HEARTBEAT_MS,
  JOURNAL_CAPABILITY,
  KICKOFF_CHARACTERS_MAX,
  REPLAY_CAPABILITY,
} from '../../platform/crew-contract/crew-protocol.ts'
import type { JournaledKickoff } from '../../platform/crew-contract/crew-protocol.ts'
import { FILES_CAPABILITY } from '../../platform/crew-contract/kickoff-files.ts'
import type { KickoffFiles } from '../../platform/crew-contract/kickoff-files.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import { backoffMs } from '../../shared/backoff.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { postLines } from '../../shared/http/post-lines.ts'
import type { KeptConnections, LineAnswer } from '../../shared/http/post-lines.ts'
import { readLines } from '../../shared/http/read-lines.ts'
import { listCapabilities, UNAVAILABLE } from './describe-crew.ts'
import type { Describe } from './describe-crew.ts'

/** The deadline of a kickoff: a crew answers it at once, long before its first model call ends. */
const ANSWER_MS = 10_000
/** One with files takes its time to arrive. */
const LONG_ANSWER_MS = 60_000
const LONG_CHARACTERS = 1_000_000
const BACKOFF = { firstMs: 250, maxMs: 5000 }
const PROBLEM_CHARACTERS_MAX = 16_384

/** A kickoff, and the crew that it goes to. */
export interface CrewCall {
  /** The address of the crew; `/kickoff` is added. */
  readonly url: string
  /** The tokens that the crew may know, the likeliest first. */
  readonly tokens: readonly string[]
  readonly request: JournaledKickoff
  /** For runs without finished steps. @default asks each time */
  readonly describe?: Describe | undefined
  /** @default a connection of its own */
  readonly pool?: KeptConnections | undefined
  /** Lends the files that the inputs name to a call. @default there are none */
  readonly withFiles?:
    | (<Result>(use: (files: KickoffFiles) => Promise<Result>) => Promise<Result>)
    | undefined
  /** The time in which an unavailable crew is tried again. */
  readonly patienceMs: number
  readonly signal: AbortSignal
  /** Aborts when the worker stops: a crew that is unavailable is not waited for. */
  readonly pause: AbortSignal
  /** Called before each wait. */
  readonly onUnavailable?: (reason: string) => void
}

type Opened =
  | { readonly ok: true; readonly stream: CrewStream }
  /** Slow is a crew that takes connections and does not answer in time. */
  | { readonly ok: false; readonly failure: RunFailure; readonly isSlow?: boolean }
  | { readonly ok: false; readonly isPaused: true }
type Answer = Opened | { readonly unavailable: string; readonly isSlow?: boolean }

/** The lines of a crew, and what it is told meanwhile. */
export interface CrewStream extends Pick<LineAnswer, 'body' | 'tell' | 'end' | 'close'> {
  /** The crew reports steps, and waits until they are committed. */
  readonly isJournaled: boolean
}

/**
 * Starts a run on a crew and returns its stream of lines. An unavailable crew is tried again for as
 * long as the patience lasts: nothing has run there yet. Raises only the reason of the signal.
 */
export async function openCrew(call: CrewCall): Promise<Opened> {
  const { patienceMs, signal, pause, onUnavailable } = call
  const started = performance.now()
  for (let attempts = 1; ; attempts += 1) {
    const answer = await post(call)
    if ('ok' in answer) return answer
    const reason = answer.unavailable
    const spentMs = performance.now() - started
    const waitMs = backoffMs(attempts, BACKOFF)
    if (spentMs + waitMs > patienceMs) {
      const { isSlow } = answer
      return { ok: false, isSlow, failure: unreachable(call, reason, { attempts, spentMs }) }
    }
    onUnavailable?.(reason)
    const stop = AbortSignal.any([signal, pause])
    await sleep(waitMs, undefined, { signal: stop }).catch(() => signal.throwIfAborted())
    if (pause.aborted) return { ok: false, isPaused: true }
  }
}

const hostOf = (url: string): string => new URL(url).host

function unreachable(
  { url }: CrewCall,
  reason: string,
  { attempts, spentMs }: { attempts: number; spentMs: number },
): RunFailure {
  const tried = attempts === 1 ? 'once' : `${attempts} times in ${Math.ceil(spentMs / 1000)} s`
  return {
    code: 'crew_unreachable',
    message:
      `The crew at ${hostOf(url)} cannot be reached: ${reason}. Tried ${tried}. ` +
      'Look at the status of its automation and at the log of its pod, then start this again.',
  }
}

/** Posts the kickoff, with one token after the other until the crew accepts one. */
async function post(call: CrewCall): Promise<Answer> {
  const { signal, request, withFiles, describe = listCapabilities } = call
  try {
    // What has finished was paid for: a crew that was replaced this moment would do it again.
    const ask = request.journal.length > 0 ? listCapabilities : describe
    const capabilities = await ask(call)
    const isJournaled = capabilities.includes(JOURNAL_CAPABILITY)
    if (!isJournaled && request.journal.length > 0) {
      return { ok: false, failure: withoutJournal(call) }
    }
    if (request.replay && !capabilities.includes(REPLAY_CAPABILITY)) {
      return { ok: false, failure: withoutReplay(call) }
    }
    if (!withFiles) return await start(call, request, isJournaled)
    return await withFiles(async (files) => {
      if (Object.keys(files).length === 0) return start(call, request, isJournaled)
      return capabilities.includes(FILES_CAPABILITY)
        ? start(call, { ...request, files }, isJournaled)
        : { ok: false, failure: withoutFiles(call) }
    })
  } catch (thrown) {
    signal.throwIfAborted()
    const isSlow = thrown instanceof AppError && thrown.code === 'timeout'
    return { unavailable: reasonOf(thrown), isSlow }
  }
}

async function start(
  call: CrewCall,
  request: JournaledKickoff,
  isJournaled: boolean,
): Promise<Answer> {
  const document = documentOf(request, isJournaled)
  if (document.length > KICKOFF_CHARACTERS_MAX) return { ok: false, failure: tooLong(document) }
  const kickoff = { document, keepAliveMs: isJournaled ? HEARTBEAT_MS : undefined }
  const [first = '', ...others] = call.tokens
  let answer = await send(call, first, kickoff)
  for (const token of others) {
    if (answer.status !== 401) break
    answer.close()
    answer = await send(call, token, kickoff)
  }
  return classify(call, answer, isJournaled)
}

function withoutFiles({ url }: CrewCall): RunFailure {
  return {
    code: 'crew_without_files',
    message:
      `The crew at ${hostOf(url)} takes no files: it has no capability "files". Update it, or ` +
      'use inputs of another type.',
  }
}

function withoutReplay({ url }: CrewCall): RunFailure {
  return {
    code: 'crew_rejected',
    message:
      `The crew at ${hostOf(url)} performs no run again: it has no capability "replay". ` +
      'Update it.',
  }
}

function withoutJournal({ url, request }: CrewCall): RunFailure {
  const { length } = request.journal
  return {
    code: 'crew_without_journal',
    message:
      `The crew at ${hostOf(url)} cannot continue after the ${length} steps that have finished: ` +
      'it was replaced by one without the capability "journal". Replace it by one with it and ' +
      'retry this run, or start a new one.',
  }
}

function tooLong({ length }: string): RunFailure {
  return {
    code: 'journal_too_long',
    message:
      `The inputs and the journal of the run have ${length} characters; a crew takes at most ` +
      `${KICKOFF_CHARACTERS_MAX}. Let its tasks and tools return less, and run it again.`,
  }
}

/** Steps are for crews that take them; the others refuse fields that they do not know. */
function documentOf(request: JournaledKickoff, isJournaled: boolean): string {
  if (isJournaled) return JSON.stringify(request)
  const { version: _version, journal: _journal, ...plain } = request
  return JSON.stringify(plain)
}

async function send(
  { url, pool, signal }: CrewCall,
  token: string,
  kickoff: { readonly document: string; readonly keepAliveMs: number | undefined },
): Promise<LineAnswer> {
  const post = { url: new URL(`${url.replace(/\/+$/, '')}/kickoff`), token, pool, ...kickoff }
  const isLong = kickoff.document.length > LONG_CHARACTERS
  const limit = { name: 'crew', timeoutMs: isLong ? LONG_ANSWER_MS : ANSWER_MS, signal }
  return deadline(limit, (stop) => postLines({ ...post, signal: stop }))
}

async function classify(call: CrewCall, answer: LineAnswer, isJournaled: boolean): Promise<Answer> {
  const { signal } = call
  const { status, contentType } = answer
  if (status === 200 && contentType.startsWith('application/x-ndjson')) {
    return { ok: true, stream: { ...answer, isJournaled } }
  }
  const said = await refusalOf(answer, signal)
  answer.close()
  if (UNAVAILABLE.has(status)) return { unavailable: `it answers HTTP ${status}${said}` }
  return { ok: false, failure: { code: 'crew_rejected', message: rejection(call, status, said) } }
}

function rejection({ url, request }: CrewCall, status: number, said: string): string {
  const host = hostOf(url)
  if (status === 200) return `The program at ${host} is not a crew. Check the automation's address.`
  if (status === 401) {
    return (
      `The crew at ${host} does not accept this platform's token. It was deployed with another ` +
      'SECRET_KEY_BASE: deploy it again.'
    )
  }
  const refusal = `The crew at ${host} refused the run with HTTP ${status}${said}`
  if (status !== 422 || request.journal.length === 0) return refusal
  // Another crew than the one that began took it: with the same version it would do so again.
  return (
    `${refusal} The crew that began the run was replaced by one that does not take its version. ` +
    'Deploy one that does and retry the run, or run it again with the version of now.'
  )
}

const problem = v.object({ message: v.string() })

/** Returns a crew's reason, ready to follow `HTTP 422`; empty when no crew wrote the response. */
async function refusalOf({ body, contentType }: LineAnswer, signal: AbortSignal): Promise<string> {
  if (!contentType.startsWith('application/problem+json')) return ''
  try {
    const limits = { charactersMax: PROBLEM_CHARACTERS_MAX, silenceMs: ANSWER_MS, signal }
    for await (const line of readLines(body, limits)) {
      return `: ${v.parse(problem, JSON.parse(line)).message}`
    }
  } catch {
    // The status says enough.
  }
  return ''
}

/** Returns the code of the system: `ECONNREFUSED`, `ENOTFOUND`, …; else the message. */
function reasonOf(thrown: unknown): string {
  const error = toError(thrown)
  const { cause } = error
  for (const each of [error, cause]) {
    if (each instanceof Error && 'code' in each && /^E[A-Z]+$/.test(String(each.code))) {
      return String(each.code)
    }
  }
  return cause instanceof Error ? cause.message : error.message
}
