import { enlarge, lend } from './memory.ts'
import type { Memory } from './memory.ts'
import type { Redaction } from './redaction/redaction.ts'
import { createIdentities } from './identities.ts'
import type { Identity } from './identities.ts'
import type { Encoding } from './answer.ts'
import { createJsonRewriter } from './json-request.ts'
import { MAX_ORGANIZATION_CHARS } from './limits.ts'
import { REFUSALS } from './problems.ts'
import type { Refusal } from './problems.ts'
import { addRedaction } from './redaction-tables.ts'
import { createRowBuffer, noteIdentity, noteRow, truncateRows } from './row-buffer.ts'
import type { RowBuffer } from './row-buffer.ts'
import { createTranscoderModule } from './transcoder-module.ts'
import type { TranscoderModule } from './transcoder-module.ts'

/** Spans that start outside are refused; microseconds since 2000. */
interface Window {
  readonly oldest: number
  readonly newest: number
}

/** What holds for all spans of a request. */
export interface RequestFacts extends Window {
  /**
   * Whose spans they are: 1 to 64 characters. Without it they are the platform's own, unless their
   * resource names an organization.
   */
  readonly organization?: string | undefined
  /**
   * The oldest start, in microseconds since 2000, of an organization that keeps its spans for less
   * time than others do; undefined for those.
   */
  readonly oldestOf?: ((organization: string) => number | undefined) | undefined
  /** @default protobuf */
  readonly encoding?: Encoding | undefined
}

/** The outcome of the spans of one request. */
export interface Transcript {
  /** Spans in the request. */
  readonly spans: number
  /** Spans that are rows now. */
  readonly rows: number
  /** The others, by reason. */
  readonly refused: ReadonlyMap<Refusal, number>
  /** Attribute keys that one span gave more than once. */
  readonly duplicateKeys: number
  /** Strings cut to the length limit. */
  readonly truncated: number
  /** Attributes of spans, and their events and links, beyond what one span may have. */
  readonly droppedAttributes: number
  readonly droppedItems: number
  /** Marks written in place of secrets, by kind. */
  readonly redacted: ReadonlyMap<string, number>
}

/** Appends the rows of a request to the target; both lie in the memory of the transcoder. */
export type Transcode = (body: Buffer, target: RowBuffer, facts: RequestFacts) => Transcript

/**
 * Turns the bytes of an ExportTraceServiceRequest into rows of `spans` without an object for each
 * span; JSON becomes protobuf first. Raises `invalid_request` for a body that is not such a
 * message, `unavailable` when the memory has no room for the rows; the target is then as it was
 * before. Redacts every text that it writes.
 */
export function createTranscoder(memory: Memory, redaction?: Redaction): Transcode {
  const readMessage = createMessageReader(memory, redaction)
  // Secrets are looked for in texts without escapes.
  const rewriteJson = createJsonRewriter(memory, { pointsIntoBody: !redaction })
  return (body, target, facts) => {
    if (facts.encoding !== 'json') return readMessage(body, target, facts)
    return lend(memory, rewriteJson(body), (message) => readMessage(message, target, facts))
  }
}

/** Turns messages in protobuf into rows: those of senders, and those that were rewritten. */
function createMessageReader(memory: Memory, redaction?: Redaction): Transcode {
  const { buffer } = memory.block
  const bytes = Buffer.from(buffer)
  const findIdentity = createIdentities()
  let request = NO_REQUEST
  const take = (kind: Identity['kind'], idAt: number, document: Buffer): Identity => {
    const owner = kind === 'scope' ? request.resource : undefined
    const identity = findIdentity(kind, document, owner?.organization ?? request.organization)
    request[kind] = identity
    bytes.set(identity.idBytes, idAt)
    return identity
  }
  const keep = (identity: Identity | undefined): void => {
    if (identity) noteIdentity(request.target, identity)
  }
  const module = createTranscoderModule(memory.block, {
    enlarge(used, size) {
      growRows(request.target, used, size)
      writeWithin(module, request.target)
    },
    noteRows(count) {
      const offsets = new Uint32Array(buffer, module.notedOffsets.value, count)
      const starts = new Float64Array(buffer, module.notedStarts.value, count)
      offsets.forEach((offset, row) => noteRow(request.target, offset, starts[row] ?? 0))
    },
    noteRefusal: (reason) => countRefusal(request.refused, reason),
    takeResource(from, end) {
      const { organization } = take('resource', module.resourceId.value, bytes.subarray(from, end))
      setOrganization(module, bytes, organization)
      setWindow(module, request, organization)
    },
    takeScope: (from, end) => take('scope', module.scopeId.value, bytes.subarray(from, end)),
    keepResource: () => keep(request.resource),
    keepScope: () => keep(request.scope),
    writeMark(to, ...[kind, from, end]) {
      count(request.redacted, redaction?.kinds[kind] ?? '')
      const mark = redaction?.mark(kind, bytes.subarray(from, end)) ?? ''
      return to + bytes.write(mark, to, 'latin1')
    },
  })
  if (redaction) addRedaction(module, bytes, redaction.tables)
  return (body, target, facts) => {
    requireWithin(buffer, [body, target.bytes])
    const { rows, end } = target
    const { organization = '' } = facts
    request = { ...facts, target, organization, refused: new Map(), redacted: new Map() }
    writeWithin(module, target)
    try {
      target.end = readRequest(module, body, request)
      return transcriptOf(module, request)
    } catch (error) {
      truncateRows(target, rows, end)
      throw error
    } finally {
      request = NO_REQUEST
    }
  }
}

function readRequest(module: TranscoderModule, body: Buffer, request: CurrentRequest): number {
  const { target, encoding } = request
  const from = body.byteOffset
  const to = target.bytes.byteOffset + target.end
  return module.readRequest(from, from + body.length, to, encoding === 'json' ? 1 : 0)
}

/** The request being read, and the identities of the spans being read. */
interface CurrentRequest extends RequestFacts {
  readonly target: RowBuffer
  readonly organization: string
  readonly refused: Map<Refusal, number>
  readonly redacted: Map<string, number>
  resource?: Identity
  scope?: Identity
}

const NO_REQUEST: CurrentRequest = {
  oldest: 0,
  newest: 0,
  target: createRowBuffer(Buffer.alloc(0)),
  organization: '',
  refused: new Map(),
  redacted: new Map(),
}

function requireWithin(block: ArrayBuffer, buffers: readonly Buffer[]): void {
  const isForeign = buffers.some((one) => one.length > 0 && one.buffer !== block)
  if (isForeign) throw new Error('Requests and rows must lie in the memory of the transcoder.')
}

/** Raises an error when it is longer than an organization may be. */
function setOrganization(module: TranscoderModule, bytes: Buffer, organization: string): void {
  if (organization.length > MAX_ORGANIZATION_CHARS) throw new Error('The organization is too long.')
  module.setOrganization(bytes.write(organization, module.organization.value))
}

function setWindow(module: TranscoderModule, facts: RequestFacts, organization: string): void {
  module.setWindow(facts.oldestOf?.(organization) ?? facts.oldest, facts.newest)
}

function countRefusal(refused: Map<Refusal, number>, reason: number): void {
  const refusal = REFUSALS[reason - 1]
  if (refusal) count(refused, refusal)
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const GROWTH = 1.25

/** Moves rows, of which `used` bytes are written, to where `size` more have room. */
function growRows(target: RowBuffer, used: number, size: number): void {
  const needed = Math.max(used + size, Math.ceil(used * GROWTH))
  target.bytes = enlarge(target.memory, target.bytes, { used, size: needed })
}

function writeWithin(module: TranscoderModule, { bytes }: RowBuffer): void {
  module.writeWithin(bytes.byteOffset, bytes.byteOffset + bytes.length)
}

const transcriptOf = (
  module: TranscoderModule,
  { refused, redacted }: CurrentRequest,
): Transcript => ({
  spans: module.spans.value,
  rows: module.rows.value,
  refused,
  duplicateKeys: module.duplicateKeys.value,
  truncated: module.truncated(),
  droppedAttributes: module.droppedAttributes.value,
  droppedItems: module.droppedItems.value,
  redacted,
})
