import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { createHash } from 'node:crypto'
import { organizationOfResource } from '../../../../services/collector/otlp/identities.ts'
import { writeAscii, writeJsonString } from './json-string.ts'
import { writeAttributesObject } from './json-value.ts'
import { checkEnd, readEnd, readVarint, skipField } from './tape.ts'
import type { Tape } from './tape.ts'

/** A resource or an instrumentation scope: what many spans share. */
interface Identity {
  readonly kind: 'resource' | 'scope'
  readonly organization: string
  /**
   * The first eight bytes of the SHA-256 of the organization and the document, as a signed decimal
   * and as two halves.
   */
  readonly id: string
  readonly high: number
  readonly low: number
  /** Everything known of it, as JSON. */
  readonly document: string
  /** Strings in it that were cut to the length limit. */
  readonly truncated: number
}

/** Where a Resource or InstrumentationScope message and the schema URL beside it lie. */
export interface IdentityRange {
  from: number
  end: number
  schemaFrom: number
  schemaEnd: number
}

type Owner = Pick<Identity, 'kind' | 'organization'>

export interface Identities {
  resourceOf(tape: Tape, range: IdentityRange, organization: string): Identity
  scopeOf(tape: Tape, range: IdentityRange, organization: string): Identity
}

const CACHED_MAX = 4096
const CACHED_CHARS_MAX = 4 << 20

/**
 * Identities by their content. The bytes of a message name it in the cache; the id is a hash of its
 * JSON, so that both encodings and all replicas agree.
 */
export function createIdentities(): Identities {
  const cache = new Map<string, Identity>()
  let chars = 0
  const find = (tape: Tape, range: IdentityRange, owner: Owner): Identity => {
    const key = `${owner.organization}\n${keyOf(tape, range, owner.kind)}`
    const known = cache.get(key)
    if (known) {
      tape.truncated += known.truncated
      return known
    }
    const identity = describe(tape, range, owner)
    chars += key.length + identity.document.length
    if (cache.size >= CACHED_MAX || chars > CACHED_CHARS_MAX) {
      cache.clear()
      chars = 0
    }
    if (key.length < CACHED_CHARS_MAX / 4) cache.set(key, identity)
    return identity
  }
  return {
    resourceOf: (tape, range, organization) =>
      find(tape, range, { kind: 'resource', organization }),
    scopeOf: (tape, range, organization) => find(tape, range, { kind: 'scope', organization }),
  }
}

function keyOf({ src }: Tape, range: IdentityRange, kind: string): string {
  const message = src.toString('latin1', range.from, range.end)
  return `${kind}\n${src.toString('latin1', range.schemaFrom, range.schemaEnd)}\n${message}`
}

function describe(tape: Tape, range: IdentityRange, owner: Owner): Identity {
  const { kind } = owner
  const start = tape.to
  const before = tape.truncated
  writeDocument(tape, range, kind)
  const document = tape.out.toString('utf8', start, tape.to)
  // The document was written where the next row will be, only to be read back.
  tape.to = start
  const isUnnamed = kind === 'resource' && owner.organization === ''
  const organization = isUnnamed ? organizationOfResource(document) : owner.organization
  const prefix = organization === '' ? '' : `\0${organization}\0`
  const hash = createHash('sha256').update(`${kind}${prefix}${document}`).digest()
  return {
    kind,
    organization,
    id: hash.readBigInt64BE(0).toString(),
    high: hash.readInt32BE(0),
    low: hash.readInt32BE(4),
    document,
    truncated: tape.truncated - before,
  }
}

interface Fields {
  nameFrom: number
  nameEnd: number
  versionFrom: number
  versionEnd: number
  dropped: number
}

function writeDocument(tape: Tape, range: IdentityRange, kind: Identity['kind']): void {
  const fields = readFields(tape, range, kind)
  tape.depth = 0
  writeAscii(tape, '{"attributes":')
  writeAttributesObject(tape, TAGS[kind].attributes, range)
  if (fields.dropped > 0) writeAscii(tape, `,"dropped_attributes":${fields.dropped}`)
  if (kind === 'scope') {
    writeAscii(tape, ',"name":')
    writeJsonString(tape, fields.nameFrom, fields.nameEnd)
    writeOptional(tape, ',"version":', { from: fields.versionFrom, end: fields.versionEnd })
  }
  writeOptional(tape, ',"schema_url":', { from: range.schemaFrom, end: range.schemaEnd })
  writeAscii(tape, '}')
}

function writeOptional(tape: Tape, label: string, text: { from: number; end: number }): void {
  if (text.end <= text.from) return
  writeAscii(tape, label)
  writeJsonString(tape, text.from, text.end)
}

/**
 * Name (1), version (2) and dropped attributes (4) of a scope; dropped attributes (2) of a
 * resource.
 */
function readFields(tape: Tape, { from, end }: IdentityRange, kind: Identity['kind']): Fields {
  const fields = { nameFrom: 0, nameEnd: 0, versionFrom: 0, versionEnd: 0, dropped: 0 }
  const droppedTag = TAGS[kind].droppedAttributesCount
  tape.at = from
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === droppedTag) fields.dropped = readVarint(tape) >>> 0
    else if (kind === 'scope' && (tag === TAGS.scope.name || tag === TAGS.scope.version))
      readText(tape, fields, { tag, end })
    else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
  return fields
}

function readText(tape: Tape, fields: Fields, place: { tag: number; end: number }): void {
  const stop = readEnd(tape, place.end)
  if (place.tag === TAGS.scope.name) {
    fields.nameFrom = tape.at
    fields.nameEnd = stop
  } else {
    fields.versionFrom = tape.at
    fields.versionEnd = stop
  }
  tape.at = stop
}
