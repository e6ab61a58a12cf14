import type { Context } from 'hono'
import * as v from 'valibot'
import { placesOf } from '../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { requireInputs } from '../platform/definitions/crew-inputs.ts'
import {
  journaledKickoff,
  KICKOFF_CHARACTERS_MAX,
  kickoffLine,
  kickoffRequest,
} from '../platform/crew-contract/crew-protocol.ts'
import type { JournaledKickoff, KickoffRequest } from '../platform/crew-contract/crew-protocol.ts'
import type { HandedConnections } from '../platform/connections/handed-connections.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError } from '../shared/errors.ts'
import { readLines } from '../shared/http/read-lines.ts'
import type { Commits } from './commits.ts'
import type { TextWish } from './text-deltas.ts'

const FIRST_LINE_MS = 30_000
/** The worker writes a line, perhaps an empty one, much more often. */
const SILENCE_MS = 30_000

/** A kickoff that this crew can perform. */
export type Kickoff = KickoffRequest &
  Partial<Pick<JournaledKickoff, 'version' | 'journal' | 'replay'>> & {
    readonly definition: CrewDefinition
    /** Set: the worker takes steps. Reads its lines until the signal aborts. */
    readonly follow?: (commits: Commits, signal: AbortSignal) => Promise<void>
    /** Those of now: lines that `follow` reads replace them. */
    readonly connections: Readonly<HandedConnections>
    /** Aborts when the worker asks for an end after the calls in flight. */
    readonly stopping: AbortSignal
    /** Whether somebody follows what the models write at this moment. */
    readonly text: TextWish
  }

/**
 * Reads a kickoff: one JSON document, or the first line of a body that the worker keeps open.
 * Raises `invalid_request`, `payload_too_large`, `timeout`, `unprocessable`.
 */
export async function readKickoff(c: Context, deployed: CrewDefinition): Promise<Kickoff> {
  const kickoff = isOpenBody(c) ? await readOpenBody(c) : readWhole(await c.req.text())
  const { definition = deployed } = kickoff
  requireInputs(placesOf(definition), kickoff.inputs)
  return { connections: {}, ...kickoff, definition }
}

/** Returns true for a body of lines, which the worker keeps open. */
export const isOpenBody = (c: Context): boolean => mediaTypeOf(c) === 'application/x-ndjson'

/** Returns the media type of a request, without its parameters. */
export function mediaTypeOf(c: Context): string {
  const [mediaType = ''] = (c.req.header('content-type') ?? '').split(';')
  return mediaType.trim().toLowerCase()
}

const readWhole = (body: string) => ({
  ...parse(kickoffRequest, body),
  stopping: new AbortController().signal,
  text: { isWanted: false },
})

async function readOpenBody(c: Context) {
  const { body } = c.req.raw
  if (!body) throw new AppError('invalid_request', 'The kickoff has no body.')
  const closing = new AbortController()
  const limits = { charactersMax: KICKOFF_CHARACTERS_MAX, silenceMs: SILENCE_MS }
  const lines = readLines(body, { ...limits, signal: closing.signal })
  const first = await firstOf(lines).catch((thrown: unknown) => {
    closing.abort()
    throw thrown
  })
  const stop = new AbortController()
  const kickoff = parse(journaledKickoff, first)
  const connections = { ...kickoff.connections }
  const text = { isWanted: false }
  return {
    ...kickoff,
    connections,
    text,
    stopping: stop.signal,
    async follow(commits: Commits, signal: AbortSignal): Promise<void> {
      signal.addEventListener('abort', () => closing.abort(), { once: true })
      for await (const line of lines) {
        const said = parse(kickoffLine, line)
        if (said.ack !== undefined) commits.advance(said.ack)
        if (said.stop) stop.abort()
        text.isWanted = said.text_deltas ?? text.isWanted
        Object.assign(connections, said.connections)
      }
      throw new Error('it closed its side of the connection')
    },
  }
}

async function firstOf(lines: AsyncGenerator<string>): Promise<string> {
  const limit = { name: 'The worker', timeoutMs: FIRST_LINE_MS }
  const { done, value } = await deadline(limit, () => lines.next())
  if (done) throw new AppError('invalid_request', 'The kickoff is empty.')
  return value
}

function parse<Schema extends v.GenericSchema>(schema: Schema, text: string) {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new AppError('invalid_request', 'The body is not valid JSON.')
  }
  const result = v.safeParse(schema, json)
  if (result.success) return result.output
  const problems = result.issues.map(
    (issue) => `${v.getDotPath(issue) ?? 'body'}: ${issue.message}`,
  )
  throw new AppError('unprocessable', `The kickoff is not valid: ${problems.join('; ')}`, {
    details: { problems },
  })
}
