import { StringDecoder } from 'node:string_decoder'
import { SAXParser } from 'sax'
import type { Tag } from 'sax'
import { fromBufferPromise } from 'yauzl'
import type { Entry, ZipFile } from 'yauzl'
import { DOCUMENT_LIMITS } from '../shared/documents/limits.ts'
import { ENCRYPTED } from '../shared/documents/document-types.ts'
import { damaged, Refusal } from './document-text.ts'

/** An element of a part: its name and its attributes, without the prefixes of their namespaces. */
interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

/** What reads a part. */
export interface PartReader {
  readonly open?: (element: Element) => void
  readonly close?: (name: string) => void
  readonly text?: (text: string) => void
}

/** The parts of an office document. */
export interface OfficeArchive {
  has(part: string): boolean
  /** Reads a part of XML. Raises a `Refusal` for one that is not there, or is not well-formed. */
  read(part: string, reader: PartReader): Promise<void>
  /** Returns the targets of the relations of a part, by their ids. */
  relationsOf(part: string): Promise<Map<string, { readonly type: string; readonly path: string }>>
}

/** Opens the archive that an office document is. Raises a `Refusal`. */
export async function openOfficeArchive(bytes: Buffer): Promise<OfficeArchive> {
  const { archive, entries } = await openZip(bytes)
  let unpacked = 0

  async function read(part: string, reader: PartReader): Promise<void> {
    const entry = entries.get(part)
    if (!entry) throw damaged(`it has no ${part.slice(0, 100)}`)
    if (entry.isEncrypted()) throw new Refusal(ENCRYPTED)
    // A part that has more bytes than it says is an error when it is read.
    unpacked += entry.uncompressedSize
    if (unpacked > DOCUMENT_LIMITS.unpackedBytes) throw tooLarge()
    const parser = createParser(reader)
    const decoder = new StringDecoder('utf8')
    for await (const chunk of await archive.openReadStreamPromise(entry)) {
      parser.write(decoder.write(chunk))
    }
    parser.write(decoder.end()).close()
  }

  async function relationsOf(part: string) {
    const folder = part.slice(0, part.lastIndexOf('/') + 1)
    const rels = `${folder}_rels/${part.slice(folder.length)}.rels`
    const found = new Map<string, { type: string; path: string }>()
    if (!entries.has(rels)) return found
    await read(rels, {
      open({ name, attributes: { Id = '', Type = '', Target = '', TargetMode } }) {
        // What is elsewhere is not fetched.
        if (name !== 'Relationship' || TargetMode === 'External') return
        const type = Type.slice(Type.lastIndexOf('/') + 1)
        found.set(Id, { type, path: new URL(Target, `part:///${folder}`).pathname.slice(1) })
      },
    })
    return found
  }

  return { has: (part) => entries.has(part), read, relationsOf }
}

async function openZip(
  bytes: Buffer,
): Promise<{ archive: ZipFile; entries: ReadonlyMap<string, Entry> }> {
  const entries = new Map<string, Entry>()
  const archive = await fromBufferPromise(bytes, { lazyEntries: true, autoClose: false }).catch(
    () => {
      throw damaged('it is cut off, or no whole archive')
    },
  )
  if (archive.entryCount > DOCUMENT_LIMITS.parts) throw tooLarge()
  for await (const entry of archive.eachEntry()) {
    if (entries.has(entry.fileName)) throw damaged('it has a part twice')
    entries.set(entry.fileName, entry)
  }
  return { archive, entries }
}

const tooLarge = (): Refusal =>
  new Refusal(
    `is too large once it is unpacked: at most ${DOCUMENT_LIMITS.unpackedBytes} bytes in ` +
      `${DOCUMENT_LIMITS.parts} parts are read`,
  )

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/** Of `id` and `r:id`, the one with a prefix is what is needed here. */
function withoutPrefixes(attributes: Tag['attributes']): Record<string, string> {
  const entries = Object.entries(attributes)
  const prefixed = entries.filter(([key]) => key.includes(':'))
  const named = prefixed.map(([key, value]) => [localName(key), value] as const)
  return prefixed.length === 0 ? attributes : Object.fromEntries([...entries, ...named])
}

function createParser({ open, close, text }: PartReader): SAXParser {
  // Without positions it allows attributes as long as office programs write them.
  const parser = new SAXParser(true, { position: false })
  parser.onerror = () => {
    throw damaged('its XML is not well-formed')
  }
  // Entities are declared in one, to grow or to read other files; no office program writes it.
  parser.ondoctype = () => {
    throw damaged('its XML declares a document type, which no office document does')
  }
  parser.ontext = (found) => text?.(found)
  parser.oncdata = (found) => text?.(found)
  parser.onopentag = ({ name, attributes }: Tag) =>
    open?.({ name: localName(name), attributes: withoutPrefixes(attributes) })
  parser.onclosetag = (name) => close?.(localName(name))
  return parser
}
