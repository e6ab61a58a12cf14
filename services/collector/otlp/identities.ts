import { createHash } from 'node:crypto'
import { isOrganizationName } from '../../shared/organization-name.ts'

/** The attribute in which the platform's own services say whose spans they send. */
const ORGANIZATION_KEY = 'organization_id'

/** A resource or an instrumentation scope: what many spans of one organization share. */
export interface Identity {
  readonly kind: 'resource' | 'scope'
  /** Empty for the platform's own. */
  readonly organization: string
  /**
   * The first eight bytes of the SHA-256 of the organization and the document, as a signed decimal
   * and as they are.
   */
  readonly id: string
  readonly idBytes: Buffer
  /** Everything known of it, as JSON. */
  readonly document: string
}

/**
 * Returns the identity of a document, which lies in `bytes`. A resource of no organization may name
 * its own.
 */
type FindIdentity = (kind: Identity['kind'], bytes: Buffer, organization: string) => Identity

const CACHED_MAX = 4096
const CACHED_CHARS_MAX = 4 << 20

/** Remembers identities by their documents: both encodings, and all replicas, agree on the id. */
export function createIdentities(): FindIdentity {
  const cache = new Map<string, Identity>()
  let chars = 0
  return (kind, bytes, organization) => {
    const key = `${kind}${organization}\0${bytes.toString('latin1')}`
    const known = cache.get(key)
    if (known) return known
    const identity = describe(kind, bytes, organization)
    chars += key.length + identity.document.length
    if (cache.size >= CACHED_MAX || chars > CACHED_CHARS_MAX) {
      cache.clear()
      chars = 0
    }
    if (key.length < CACHED_CHARS_MAX / 4) cache.set(key, identity)
    return identity
  }
}

function describe(kind: Identity['kind'], bytes: Buffer, given: string): Identity {
  const document = bytes.toString('utf8')
  const isUnnamed = kind === 'resource' && given === ''
  const organization = isUnnamed ? organizationOfResource(document) : given
  const hash = createHash('sha256').update(kind)
  // No document begins with this character, so that no two of them are hashed as the same bytes.
  if (organization !== '') hash.update(`\0${organization}\0`)
  const idBytes = hash.update(bytes).digest().subarray(0, 8)
  return { kind, organization, id: idBytes.readBigInt64BE().toString(), idBytes, document }
}

/** The organization that the document of a resource names; empty when it names none. */
export function organizationOfResource(document: string): string {
  if (!document.includes(ORGANIZATION_KEY)) return ''
  // The transcoder wrote it: an object with an object of attributes.
  const { attributes } = JSON.parse(document) as { attributes: Record<string, unknown> }
  const named = Object.hasOwn(attributes, ORGANIZATION_KEY) ? attributes[ORGANIZATION_KEY] : ''
  return isOrganizationName(named) ? named : ''
}
