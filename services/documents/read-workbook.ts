import { createTextWriter, damaged, Refusal } from './document-text.ts'
import type { DocumentText, TextWriter } from './document-text.ts'
import { DOCUMENT_LIMITS } from '../shared/documents/limits.ts'
import type { OfficeArchive, PartReader } from './office-archive.ts'

/** Cells that are further away from each other are not filled up with tabs. */
const TABS_MAX = 20
const DAY_MS = 86_400_000

/** Reads the cells of a workbook: a row is a line with tabs between its cells. */
export async function readWorkbook(archive: OfficeArchive, main: string): Promise<DocumentText> {
  const relations = await archive.relationsOf(main)
  const pathOf = (wanted: string): string | undefined =>
    [...relations.values()].find(({ type, path }) => type === wanted && archive.has(path))?.path
  const { sheets, isFrom1904 } = await readSheets(archive, main)
  const strings = await readStrings(archive, pathOf('sharedStrings'))
  const dates = await readDateStyles(archive, pathOf('styles'))
  const writer = createTextWriter('sheet')
  for (const { name, id } of sheets) {
    const sheet = relations.get(id)
    // A chart may be a sheet of its own.
    if (sheet?.type !== 'worksheet') continue
    writer.begin(name)
    await archive.read(sheet.path, cells({ writer, strings, dates, isFrom1904 }))
  }
  return writer.end()
}

async function readSheets(archive: OfficeArchive, main: string) {
  const sheets: { readonly name: string; readonly id: string }[] = []
  let isFrom1904 = false
  await archive.read(main, {
    open({ name, attributes: { name: title = '', id = '', state = 'visible', date1904 } }) {
      if (name === 'workbookPr') isFrom1904 = date1904 === '1' || date1904 === 'true'
      if (name !== 'sheet') return
      sheets.push({ name: state === 'visible' ? title : `${title} (hidden)`, id })
    },
  })
  if (sheets.length === 0) throw damaged('it has no sheets')
  return { sheets, isFrom1904 }
}

/** Texts that cells name by their numbers. */
async function readStrings(archive: OfficeArchive, part: string | undefined): Promise<string[]> {
  const strings: string[] = []
  if (part === undefined) return strings
  let [text, length, isText, isPhonetic] = ['', 0, false, false]
  await archive.read(part, {
    open({ name }) {
      if (name === 'si') text = ''
      if (name === 'rPh') isPhonetic = true
      if (name === 't') isText = !isPhonetic
    },
    close(name) {
      if (name === 't') isText = false
      if (name === 'rPh') isPhonetic = false
      if (name === 'si') strings.push(text)
    },
    text(found) {
      if (!isText) return
      text += found
      length += found.length
      if (length > DOCUMENT_LIMITS.characters) {
        throw new Refusal(
          `has more than ${DOCUMENT_LIMITS.characters} characters: send a part of it`,
        )
      }
    },
  })
  return strings
}

/** The formats of dates and times that every program knows by their numbers. */
const isDateFormat = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 58)

/** Returns for each style of cells whether it shows a number as a date. */
async function readDateStyles(archive: OfficeArchive, part: string | undefined) {
  const own = new Map<number, boolean>()
  const styles: boolean[] = []
  if (part === undefined) return styles
  let isOfCells = false
  await archive.read(part, {
    open({ name, attributes: { numFmtId, formatCode = '' } }) {
      const id = Number(numFmtId)
      // Without its literal texts, colours and conditions.
      const code = formatCode.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '')
      if (name === 'numFmt') own.set(id, /[ymdhs]/i.test(code))
      if (name === 'cellXfs') isOfCells = true
      if (name === 'xf' && isOfCells) styles.push(own.get(id) ?? isDateFormat(id))
    },
    close(name) {
      if (name === 'cellXfs') isOfCells = false
    },
  })
  return styles
}

interface Cells {
  readonly writer: TextWriter
  readonly strings: readonly string[]
  readonly dates: readonly boolean[]
  readonly isFrom1904: boolean
}

function cells({ writer, strings, dates, isFrom1904 }: Cells): PartReader {
  let [type, style, column, written] = ['n', 0, 0, 0]
  let [value, isValue] = ['', false]

  function shown(): string {
    if (type === 's') return strings[Number(value)] ?? ''
    if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
    return type === 'n' && dates[style] === true ? toDate(value, isFrom1904) : value
  }

  return {
    open({ name, attributes: { t = 'n', s = '0', r } }) {
      if (name === 'row') [column, written] = [0, 0]
      if (name === 'c') {
        ;[type, style, value] = [t, Number(s), '']
        column = r === undefined ? column + 1 : columnOf(r)
      }
      isValue = name === 'v' || name === 't'
    },
    close(name) {
      isValue = false
      if (name === 'row') writer.endLine()
      if (name !== 'c' || value === '') return
      const gap = Math.min(Math.max(column - Math.max(written, 1), 0), TABS_MAX)
      writer.add('\t'.repeat(gap))
      writer.add(shown().replace(/\s*\n\s*/g, ' '))
      written = column
    },
    text(found) {
      if (isValue) value += found
    },
  }
}

/** `AB12` is in column 28. */
const columnOf = (place: string): number =>
  Array.from(place.slice(0, 3).replace(/\d.*/, '')).reduce(
    (sum, letter) => sum * 26 + letter.charCodeAt(0) - 64,
    0,
  )

/** Days since 1900, in which programs count a 29 February that was none, or since 1904. */
function toDate(value: string, isFrom1904: boolean): string {
  const days = Number(value)
  const start = isFrom1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30)
  const date = new Date(start + Math.round(days * DAY_MS))
  if (value === '' || Number.isNaN(date.getTime())) return value
  const [day = '', time = ''] = date.toISOString().split('T')
  const clock = time.slice(0, 8)
  if (days >= 0 && days < 1) return clock
  return Number.isInteger(days) ? day : `${day} ${clock}`
}
