import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { AppError } from '../errors.ts'
import { createWaitingLine } from '../waiting-line.ts'
import { DOCUMENTS, detectDocument } from './document-types.ts'
import { DOCUMENT_LIMITS } from './limits.ts'

/** Each is in memory twice, and takes a core. */
const LINE = {
  concurrent: 1,
  waitingMax: 100,
  busy: 'Many documents are being read right now. Try again in a moment.',
}
/** Megabytes of JavaScript objects; what is unpacked is beside them. */
const HEAP_MB = 160
const LOOK_MS = 50
/** A text of 4,000,000 characters as JSON, in bytes: at most six for each. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

const answerText = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([
    v.object({
      text: v.string(),
      unit: v.picklist(['page', 'sheet', 'slide']),
      pages: v.number(),
    }),
    v.object({ problem: v.string() }),
  ]),
)

/** The text of a document. */
interface ReadDocument {
  /** Pages, sheets and slides begin with a line such as `[Page 3]`. */
  readonly text: string
  /** What there is of it: `12 pages`; empty where the document does not say. */
  readonly extent: string
}

/** A document with its name, for messages. */
interface NamedDocument {
  readonly name: string
  readonly bytes: Buffer
}

/**
 * Reads the text of a document in a process of its own. Raises `unprocessable` that says why it
 * cannot be read, and `unavailable` when too many wait.
 */
export type ReadDocuments = (document: NamedDocument, signal?: AbortSignal) => Promise<ReadDocument>

/** The program that reads documents, with the arguments of Node before it. */
type DocumentsProgram = readonly string[]

/**
 * Finds the program: beside the bundles of an image it is one of them, and beside sources it is
 * bundled from them.
 */
export function documentsProgram(): DocumentsProgram {
  const own = fileURLToPath(import.meta.url)
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  if (own.endsWith('.ts')) return [at('../../run.mjs'), at('../../documents/main.ts')]
  const program = at('../documents/main.js')
  // It reads nothing but itself, and starts no other program.
  const isKnown = process.allowedNodeEnvironmentFlags.has('--permission')
  return [...(isKnown ? ['--permission', `--allow-fs-read=${program}`] : []), program]
}

/** Creates what reads documents, one at a time. */
export function createDocumentReader(
  program: DocumentsProgram = documentsProgram(),
): ReadDocuments {
  const line = createWaitingLine(LINE)
  return async function readDocument({ name, bytes }, signal) {
    const refuse = (problem: string): AppError =>
      new AppError('unprocessable', `The file ${name} ${problem}.`, {
        details: { failure: 'document_unreadable' },
      })
    const detected = detectDocument(bytes)
    if (!detected) throw refuse(`is none of ${DOCUMENTS}`)
    if ('problem' in detected) throw refuse(detected.problem)
    await line.enter()
    try {
      signal?.throwIfAborted()
      const answer = await ask(program, { mediaType: detected.mediaType, bytes, signal })
      if ('problem' in answer) throw refuse(answer.problem)
      const { text, unit, pages } = answer
      return { text, extent: pages === 0 ? '' : `${pages} ${unit}${pages === 1 ? '' : 's'}` }
    } finally {
      line.leave()
    }
  }
}

interface Question {
  readonly mediaType: string
  readonly bytes: Buffer
  readonly signal: AbortSignal | undefined
}

type Answer = v.InferOutput<typeof answerText>

async function ask(
  program: DocumentsProgram,
  { mediaType, bytes, signal }: Question,
): Promise<Answer> {
  const flags = [`--max-old-space-size=${HEAP_MB}`, '--disallow-code-generation-from-strings']
  // It is given no variable: some are secrets.
  const child = spawn(process.execPath, [...flags, ...program, mediaType], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  })
  let problem: string | undefined
  const end = (why: string): void => {
    problem ??= why
    child.kill('SIGKILL')
  }
  const stopWatching = watch(child, end)
  try {
    // A process that dies does not read to the end.
    child.stdin.on('error', () => {})
    child.stdin.end(bytes)
    const ended = once(child, 'close').catch(() => {})
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of child.stdout) {
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) end('has more text than can be read')
      else chunks.push(chunk)
    }
    await ended
    signal?.throwIfAborted()
    if (problem !== undefined) return { problem }
    const parsed = v.safeParse(answerText, Buffer.concat(chunks).toString())
    if (parsed.success) return parsed.output
    // One that is out of memory ends itself by a signal.
    if (child.exitCode === null) return { problem: TOO_MUCH }
    throw new AppError('internal', `The program that reads documents ended: ${child.exitCode}.`)
  } finally {
    stopWatching()
    child.kill('SIGKILL')
  }
}

const TOO_MUCH =
  `takes more than ${DOCUMENT_LIMITS.memoryBytes / 1024 / 1024} MiB of memory to read: ` +
  'send a part of it'
const TOO_LONG =
  `takes longer than ${DOCUMENT_LIMITS.timeoutMs / 1000} seconds to read: ` + 'send a part of it'

/** Ends a process that takes too long or too much; what it unpacks is no part of its heap. */
function watch(child: ChildProcess, end: (why: string) => void): () => void {
  child.on('error', () => end('cannot be read right now'))
  const deadline = setTimeout(() => end(TOO_LONG), DOCUMENT_LIMITS.timeoutMs)
  const look = setInterval(() => {
    if (residentBytes(child.pid) > DOCUMENT_LIMITS.memoryBytes) end(TOO_MUCH)
  }, LOOK_MS)
  return () => {
    clearTimeout(deadline)
    clearInterval(look)
  }
}

/** Linux says it in pages; elsewhere the heap alone has a limit. */
function residentBytes(pid: number | undefined): number {
  try {
    const [, resident] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')
    return Number(resident) * 4096
  } catch {
    return 0
  }
}
