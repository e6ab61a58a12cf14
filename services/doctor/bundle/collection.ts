import { toError } from '../../shared/errors.ts'
import { createBundleRedaction } from './redaction.ts'
import type { BundleRedaction } from './redaction.ts'

const FILE_BYTES_MAX = 2 << 20
const BUNDLE_BYTES_MAX = 64 << 20

/** Something that could not be read, and why. */
interface Unread {
  readonly what: string
  readonly why: string
}

/** The files of a bundle while they are collected; everything in them is redacted. */
export interface Collection {
  readonly redaction: BundleRedaction
  /** Adds a text; a long one keeps its end. */
  addText(path: string, text: string): void
  addJson(path: string, value: unknown): void
  note(what: string, why: string): void
  /** Does a part of the work; what it throws is noted, and the rest goes on. */
  part(what: string, work: () => Promise<void>): Promise<void>
  /** The files, redacted with all that was learned until now. */
  files(): ReadonlyMap<string, string>
  unread(): readonly Unread[]
}

/** Creates an empty collection. */
export function createCollection(): Collection {
  const redaction = createBundleRedaction()
  const texts = new Map<string, string>()
  const objects = new Map<string, unknown>()
  const unread: Unread[] = []
  let bytes = 0

  const note = (what: string, why: string): void => void unread.push({ what, why })

  function addText(path: string, text: string): void {
    const kept = text.length > FILE_BYTES_MAX ? text.slice(-FILE_BYTES_MAX) : text
    bytes += kept.length
    if (bytes > BUNDLE_BYTES_MAX) return note(path, 'the bundle is full')
    texts.set(path, kept)
  }

  function addJson(path: string, value: unknown): void {
    bytes += JSON.stringify(value).length
    if (bytes > BUNDLE_BYTES_MAX) return note(path, 'the bundle is full')
    objects.set(path, value)
  }

  /** At the end only: a secret may be learned after the log that shows it. */
  function files(): ReadonlyMap<string, string> {
    const all = new Map<string, string>()
    for (const [path, text] of texts) all.set(path, redaction.text(text))
    for (const [path, value] of objects) {
      all.set(path, `${JSON.stringify(redaction.object(value), null, 2)}\n`)
    }
    return all
  }

  return {
    redaction,
    addText,
    addJson,
    note,
    async part(what, work) {
      try {
        await work()
      } catch (thrown) {
        note(what, toError(thrown).message)
      }
    },
    files,
    unread: () => unread.map(({ what, why }) => ({ what, why: redaction.text(why) })),
  }
}
