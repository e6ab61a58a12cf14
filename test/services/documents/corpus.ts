import { deflateSync } from 'node:zlib'
import { zip } from '../../support/zip.ts'
import type { ZipEntry } from '../../support/zip.ts'

/** A page of a PDF: lines of text, or a picture. */
export interface PdfPage {
  readonly lines?: readonly string[]
  readonly hasPicture?: boolean
}

interface PdfOptions {
  readonly isEncrypted?: boolean
  /** What the tree of pages says of their number. */
  readonly count?: number
  /** The bytes of the content of the first page, compressed. */
  readonly content?: Buffer
  /** What codes 1, 2, 3, … of the font mean, where it is not Helvetica. */
  readonly letters?: string
}

/** Makes a PDF. */
export function pdf(pages: readonly PdfPage[], options: PdfOptions = {}): Buffer {
  const objects: string[] = ['<< /Type /Catalog /Pages 2 0 R >>', '']
  const add = (object: string): number => objects.push(object)
  const font = add(fontOf(options, add))
  const isPicture = pages.some(({ hasPicture }) => hasPicture)
  const picture = add(
    stream(
      `/Type /XObject /Subtype /${isPicture ? 'Image' : 'Form'} /Width 1 /Height 1 ` +
        '/BitsPerComponent 8 /ColorSpace /DeviceGray',
      Buffer.from([128]),
    ),
  )
  const kids = pages.map(({ lines = [], hasPicture }, index) => {
    const shown = lines.map((line) => `0 -14 Td ${codesOf(line, options)} Tj`).join('\n')
    const drawn = `BT /F1 12 Tf 50 750 Td\n${shown}\nET${hasPicture ? '\n/I1 Do' : ''}`
    const content =
      index === 0 && options.content
        ? stream('/Filter /FlateDecode', options.content)
        : stream('', Buffer.from(drawn))
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${add(content)} 0 R ` +
        `/Resources << /Font << /F1 ${font} 0 R >> /XObject << /I1 ${picture} 0 R >> >> >>`,
    )
  })
  const tree = kids.map((kid) => `${kid} 0 R`).join(' ')
  objects[1] = `<< /Type /Pages /Count ${options.count ?? kids.length} /Kids [${tree}] >>`
  return assemble(objects, options)
}

/** Makes a PDF of objects, the first of which is its catalog. */
export function assemble(
  objects: readonly string[],
  { isEncrypted = false }: PdfOptions = {},
): Buffer {
  const secret = `<${'5a'.repeat(32)}>`
  const all = isEncrypted
    ? [...objects, `<< /Filter /Standard /V 1 /R 2 /O ${secret} /U ${secret} /P -4 >>`]
    : objects
  let text = '%PDF-1.7\n'
  const places = all.map((object, index) => {
    const place = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return place
  })
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const encrypt = isEncrypted ? ` /Encrypt ${all.length} 0 R /ID [<00> <00>]` : ''
  text += `xref\n0 ${all.length + 1}\n0000000000 65535 f \n${table}`
  text += `trailer\n<< /Size ${all.length + 1} /Root 1 0 R${encrypt} >>\n`
  return Buffer.from(`${text}startxref\n${text.indexOf('xref\n0 ')}\n%%EOF\n`, 'latin1')
}

/** An object with a stream. */
export const stream = (entries: string, content: Buffer): string =>
  `<< ${entries} /Length ${content.length} >>\nstream\n${content.toString('latin1')}\nendstream`

const hex = (value: number): string => value.toString(16).padStart(4, '0')

function codesOf(line: string, { letters }: PdfOptions): string {
  if (letters === undefined) return `(${line.replace(/[()\\]/g, '\\$&')})`
  return `<${Array.from(line)
    .map((letter) => hex(letters.indexOf(letter) + 1))
    .join('')}>`
}

function fontOf({ letters }: PdfOptions, add: (object: string) => number): string {
  if (letters === undefined) return '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'
  const rows = Array.from(letters).map(
    (letter, at) => `<${hex(at + 1)}> <${hex(letter.charCodeAt(0))}>`,
  )
  const map = add(
    stream(
      '',
      Buffer.from(
        '/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def ' +
          '1 begincodespacerange <0000> <ffff> endcodespacerange ' +
          `${rows.length} beginbfchar ${rows.join('\n')} endbfchar endcmap end end`,
      ),
    ),
  )
  const about = add(
    '<< /Type /FontDescriptor /FontName /A /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 ' +
      '/Ascent 800 /Descent 0 /CapHeight 700 /StemV 80 >>',
  )
  const own = add(
    '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /DW 500 /CIDSystemInfo ' +
      `<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor ${about} 0 R >>`,
  )
  return (
    '<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H ' +
    `/DescendantFonts [${own} 0 R] /ToUnicode ${map} 0 R >>`
  )
}

/** A content of a page that grows to so many bytes. */
export const inflating = (bytes: number): Buffer =>
  deflateSync(Buffer.alloc(bytes, ' '), { level: 1 })

const XML = '<?xml version="1.0" encoding="UTF-8"?>'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

export const relations = (targets: Readonly<Record<string, string>>): string =>
  `${XML}<Relationships>${Object.entries(targets)
    .map(
      ([target, type], at) =>
        `<Relationship Id="rId${at + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`

type Parts = Readonly<Record<string, string | Buffer>>

/** Makes an archive of parts. */
export const archive = (parts: Parts, more: readonly ZipEntry[] = []): Buffer =>
  zip([...Object.entries(parts).map(([name, content]) => ({ name, content })), ...more])

const ooxml = (main: string, parts: Parts, more: readonly ZipEntry[] = []): Buffer =>
  archive(
    {
      '[Content_Types].xml': `${XML}<Types/>`,
      '_rels/.rels': relations({ [main]: 'officeDocument' }),
      ...parts,
    },
    more,
  )

/** Makes a DOCX of the elements of its body. */
export const docx = (body: string, parts: Parts = {}, more: readonly ZipEntry[] = []): Buffer =>
  ooxml(
    'word/document.xml',
    {
      'word/document.xml': `${XML}<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`,
      ...parts,
    },
    more,
  )

export const paragraph = (text: string, before = ''): string =>
  `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r>${before}` +
  `<w:t xml:space="preserve">${text}</w:t></w:r></w:p>`

export const PAGE_BREAK = '<w:lastRenderedPageBreak/>'

/** Makes an XLSX of the elements of its sheets, by their names. */
export function xlsx(sheets: Readonly<Record<string, string>>, strings: readonly string[] = []) {
  const names = Object.keys(sheets)
  const targets = Object.fromEntries(names.map((_, at) => [`worksheets/s${at}.xml`, 'worksheet']))
  return ooxml('xl/workbook.xml', {
    'xl/workbook.xml': `${XML}<workbook xmlns:r="r"><sheets>${names
      .map((name, at) => `<sheet name="${name}" sheetId="${at}" r:id="rId${at + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations({
      ...targets,
      'sharedStrings.xml': 'sharedStrings',
      'styles.xml': 'styles',
    }),
    'xl/sharedStrings.xml': `${XML}<sst>${strings
      .map((text) => `<si><r><t>${text}</t></r><rPh><t>reading</t></rPh></si>`)
      .join('')}</sst>`,
    'xl/styles.xml':
      `${XML}<styleSheet><numFmts><numFmt numFmtId="170" formatCode="yyyy&quot;x&quot;-mm"/>` +
      '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
      '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>',
    ...Object.fromEntries(
      names.map((name, at) => [
        `xl/worksheets/s${at}.xml`,
        `${XML}<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`,
      ]),
    ),
  })
}

/** Makes a PPTX of the texts of its slides; those after the first have notes. */
export function pptx(slides: readonly string[]): Buffer {
  const targets = Object.fromEntries(slides.map((_, at) => [`slides/s${at}.xml`, 'slide']))
  const text = (content: string): string =>
    `${XML}<p:x xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>${content}</a:t></a:r></a:p></p:x>`
  return ooxml('ppt/presentation.xml', {
    'ppt/presentation.xml': `${XML}<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${slides
      .map((_, at) => `<p:sldId r:id="rId${at + 1}" id="${256 + at}"/>`)
      .join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relations(targets),
    ...Object.fromEntries(slides.map((slide, at) => [`ppt/slides/s${at}.xml`, text(slide)])),
    'ppt/slides/_rels/s1.xml.rels': relations({ '../notes/n1.xml': 'notesSlide' }),
    'ppt/notes/n1.xml': text('Smile.'),
  })
}

/** Makes an OpenDocument of a kind: `text`, `spreadsheet`, `presentation`. */
export const openDocument = (kind: string, body: string, parts: Parts = {}): Buffer => {
  const type = `application/vnd.oasis.opendocument.${kind}`
  const content =
    `${XML}<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" ` +
    `xmlns:draw="d"><office:body>${body}</office:body></office:document-content>`
  const parted = Object.entries({ 'content.xml': content, ...parts })
  return zip([
    { name: 'mimetype', content: type, isStored: true },
    ...parted.map(([name, part]) => ({ name, content: part })),
  ])
}
