import { ENCRYPTED } from '../shared/documents/document-types.ts'
import { createTextWriter, damaged, Refusal } from './document-text.ts'
import type { DocumentText, TextWriter } from './document-text.ts'
import { openOfficeArchive } from './office-archive.ts'
import type { OfficeArchive, PartReader } from './office-archive.ts'
import { readWorkbook } from './read-workbook.ts'

/** Reads the text of an office document of a media type. Raises a `Refusal`. */
export async function readOffice(mediaType: string, bytes: Buffer): Promise<DocumentText> {
  const archive = await openOfficeArchive(bytes)
  if (mediaType.startsWith('application/vnd.oasis')) return readOpenDocument(mediaType, archive)
  const relations = [...(await archive.relationsOf('')).values()]
  const main = relations.find(({ type }) => type === 'officeDocument')?.path
  if (main === undefined) throw damaged('it does not say which of its parts is the document')
  if (mediaType.endsWith('spreadsheetml.sheet')) return readWorkbook(archive, main)
  if (mediaType.endsWith('presentationml.presentation')) return readSlides(archive, main)
  return readWord(archive, main)
}

/** What people do not see, or see twice. */
const LEFT_OUT = new Set([
  'Fallback',
  'delText',
  'instrText',
  'tracked-changes',
  'annotation',
  // Where the stops of tabs are.
  'pPr',
])
const LINES = new Set(['p', 'h', 'tr', 'table-row'])
const CELLS = new Set(['tc', 'table-cell', 'covered-table-cell'])
const SPACES_MAX = 100

const spacesOf = (count: string | undefined): number =>
  Math.min(Math.max(Math.trunc(Number(count)) || 1, 1), SPACES_MAX)

interface Prose {
  readonly writer: TextWriter
  /** The elements that have the text. */
  readonly texts: ReadonlySet<string>
  /** Hears of each other element. */
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
}

/** Reads paragraphs and tables, of which a row is a line with tabs between its cells. */
function prose({ writer, texts, open }: Prose): PartReader {
  let [leftOut, isText, cells] = [0, 0, 0]
  return {
    open({ name, attributes }) {
      if (leftOut > 0 || LEFT_OUT.has(name)) {
        leftOut += 1
        return
      }
      if (texts.has(name)) isText += 1
      if (CELLS.has(name)) cells += 1
      if (name === 'tab') writer.add('\t')
      if (name === 'br' || name === 'line-break' || name === 'cr') writer.add('\n')
      if (name === 's') writer.add(' '.repeat(spacesOf(attributes['c'])))
      open?.(name, attributes)
    },
    close(name) {
      if (leftOut > 0) {
        leftOut -= 1
        return
      }
      if (texts.has(name)) isText -= 1
      if (CELLS.has(name)) {
        cells -= 1
        writer.add('\t')
        // A paragraph of a cell does not end its row.
      } else if (LINES.has(name)) {
        if (cells === 0) writer.endLine()
        else writer.add(' ')
      }
    },
    text(text) {
      if (leftOut === 0 && isText > 0) writer.add(text.replace(/\s*\n\s*/g, ' '))
    },
  }
}

const RUNS = new Set(['t'])

/** A document says where its pages ended when it was last printed or shown, if at all. */
async function readWord(archive: OfficeArchive, main: string): Promise<DocumentText> {
  const writer = createTextWriter('page')
  let isDivided = false
  writer.begin()
  const open = (name: string): void => {
    if (name !== 'lastRenderedPageBreak') return
    isDivided = true
    writer.begin()
  }
  await archive.read(main, prose({ writer, texts: RUNS, open }))
  const related = [...(await archive.relationsOf(main)).values()]
  for (const { path } of related.filter(({ type }) => /^(foot|end)notes$/.test(type))) {
    if (archive.has(path)) await archive.read(path, prose({ writer, texts: RUNS }))
  }
  return writer.end(isDivided)
}

async function readSlides(archive: OfficeArchive, main: string): Promise<DocumentText> {
  const writer = createTextWriter('slide')
  const relations = await archive.relationsOf(main)
  const slides: string[] = []
  await archive.read(main, {
    open({ name, attributes: { id = '' } }) {
      const slide = name === 'sldId' ? relations.get(id) : undefined
      if (slide) slides.push(slide.path)
    },
  })
  for (const slide of slides) {
    writer.begin()
    await archive.read(slide, prose({ writer, texts: RUNS }))
    const related = [...(await archive.relationsOf(slide)).values()]
    const notes = related.find(({ type }) => type === 'notesSlide')?.path
    if (notes === undefined || !archive.has(notes)) continue
    writer.endLine()
    writer.add('Notes: ')
    await archive.read(notes, prose({ writer, texts: RUNS }))
  }
  return writer.end()
}

async function readOpenDocument(mediaType: string, archive: OfficeArchive): Promise<DocumentText> {
  const kind = mediaType.slice(mediaType.lastIndexOf('.') + 1)
  const unit = kind === 'spreadsheet' ? 'sheet' : kind === 'presentation' ? 'slide' : 'page'
  await refuseEncrypted(archive)
  const writer = createTextWriter(unit)
  let isDivided = unit !== 'page'
  if (unit === 'page') writer.begin()
  const open: Prose['open'] = (name, attributes) => {
    if (unit === 'sheet' && name === 'table') writer.begin(attributes['name'])
    if (unit === 'slide' && name === 'page') writer.begin(attributes['name'])
    if (unit !== 'page' || name !== 'soft-page-break') return
    isDivided = true
    writer.begin()
  }
  await archive.read('content.xml', prose({ writer, texts: new Set(['p', 'h']), open }))
  return writer.end(isDivided)
}

/** Its parts are encrypted one by one, and its manifest says so. */
async function refuseEncrypted(archive: OfficeArchive): Promise<void> {
  const manifest = 'META-INF/manifest.xml'
  if (!archive.has(manifest)) return
  await archive.read(manifest, {
    open({ name }) {
      if (name === 'encryption-data') throw new Refusal(ENCRYPTED)
    },
  })
}
