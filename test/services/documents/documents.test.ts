import { describe, expect, it } from 'vitest'
import {
  createDocumentReader,
  documentsProgram,
} from '../../../services/shared/documents/read-document.ts'
import { toError } from '../../../services/shared/errors.ts'
import { programPath } from '../../support/program.ts'
import {
  archive,
  docx,
  inflating,
  openDocument,
  PAGE_BREAK,
  paragraph,
  pdf,
  pptx,
  relations,
  xlsx,
} from './corpus.ts'
import { read } from './read.ts'

const ROW = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" s="1"><v>45231</v></c></row>'
const NEXT =
  '<row r="2"><c r="A2" s="2"><v>45231.5</v></c><c r="B2" t="b"><v>1</v></c>' +
  '<c r="C2" t="inlineStr"><is><t>in line</t></is></c><c r="XFD2"><v>0.1</v></c></row>'
const [A, B] = [paragraph('a'), paragraph('b')]
const TABLE = `<w:tbl><w:tr><w:tc>${A}</w:tc><w:tc>${B}</w:tc></w:tr></w:tbl>`
const SHEET =
  '<table:table table:name="Sales"><table:table-row><table:table-cell><text:p>1</text:p>' +
  '</table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row>' +
  '</table:table>'
const BIG = 140 * 1024 * 1024
const LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
const LEAK = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
const withDoctype = (doctype: string): Buffer =>
  docx('', {
    'word/document.xml': `<?xml version="1.0"?>${doctype}<w:document><w:t>&b;</w:t></w:document>`,
  })
const elsewhere = (target: string): Buffer =>
  archive({
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': relations({ [target]: 'officeDocument' }),
    'word/other.xml': '<w:document/>',
  })
const compound = (text: string): Buffer =>
  Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from(text, 'utf16le')])
const DEEP = 20_000
/** Lets an archive say that it has so many entries. */
function withEntries(bytes: Buffer, entries: number): Buffer {
  bytes.writeUInt16LE(entries, bytes.length - 12)
  return bytes
}

describe('the text of a document', () => {
  it.each<[string, () => Buffer, string]>([
    [
      'a PDF, by pages',
      () => pdf([{ lines: ['Hello (you)', 'two'] }, { hasPicture: true }, { lines: ['three'] }]),
      '[Page 1]\nHello (you)\ntwo\n\n[Page 2]\n(This page has no text.)\n\n[Page 3]\nthree',
    ],
    [
      'a PDF from right to left, in the order in which it is read',
      () => pdf([{ lines: ['םולש'] }], { letters: 'שלוםאבג' }),
      '[Page 1]\nשלום',
    ],
    [
      'a PDF behind other bytes',
      () => Buffer.concat([Buffer.from('\uFEFF\n'), pdf([{ lines: ['late'] }])]),
      '[Page 1]\nlate',
    ],
    ['a DOCX, without pages that it does not know', () => docx(paragraph('One')), 'One'],
    [
      'a DOCX, by pages and rows',
      () => docx(`${paragraph('One')}${paragraph('Two', PAGE_BREAK)}${TABLE}`),
      '[Page 1]\nOne\n\n[Page 2]\nTwo\na\tb',
    ],
    [
      'a DOCX, without what was deleted or is there twice',
      () =>
        docx(
          '<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:t>new</w:t></w:r>' +
            '<mc:Fallback xmlns:mc="m"><w:r><w:t>new</w:t></w:r></mc:Fallback></w:p>',
        ),
      'new',
    ],
    ['a DOCX from right to left', () => docx(paragraph('مرحبا بالعالم')), 'مرحبا بالعالم'],
    [
      'an XLSX, by sheets, with dates as dates',
      () => xlsx({ Sales: `${ROW}${NEXT}` }, ['Name']),
      '[Sheet 1: Sales]\nName\t\t2023-11-01\n2023-11-01 12:00:00\tTRUE\tin line' +
        `${'\t'.repeat(20)}0.1`,
    ],
    [
      'a PPTX, by slides, with notes',
      () => pptx(['One', 'Two']),
      '[Slide 1]\nOne\n\n[Slide 2]\nTwo\nNotes: Smile.',
    ],
    [
      'an ODT, by pages',
      () =>
        openDocument(
          'text',
          '<text:p>One<text:s text:c="3"/>x</text:p><text:p><text:soft-page-break/>Two</text:p>',
        ),
      '[Page 1]\nOne   x\n\n[Page 2]\nTwo',
    ],
    ['an ODS, by sheets', () => openDocument('spreadsheet', SHEET), '[Sheet 1: Sales]\n1\t2'],
    [
      'an ODP, by slides',
      () =>
        openDocument('presentation', '<draw:page draw:name="a"><text:p>Hi</text:p></draw:page>'),
      '[Slide 1: a]\nHi',
    ],
    [
      'a cell far away, within bounds',
      () => xlsx({ S: '<row><c r="ZZZZ9"><v>1</v></c></row>' }),
      '1',
    ],
    [
      'a PDF that lies about its pages',
      () => pdf([{ lines: ['x'] }], { count: 1_000_000_000 }),
      '[Page 1]\nx',
    ],
  ])('is that of %s', async (_, make, text) => {
    expect(await read(make())).toContain(text)
  })

  it.each<[string, () => Buffer, string]>([
    [
      'an encrypted PDF',
      () => pdf([{ lines: ['x'] }], { isEncrypted: true }),
      'is encrypted: remove',
    ],
    ['an encrypted DOCX', () => compound('EncryptedPackage'), 'is encrypted: remove its password'],
    [
      'an encrypted ODT',
      () => openDocument('text', '', { 'META-INF/manifest.xml': '<m><encryption-data/></m>' }),
      'is encrypted: remove its password',
    ],
    [
      'an encrypted part',
      () =>
        docx('', {}, [{ name: 'word/_rels/document.xml.rels', content: 'x', isEncrypted: true }]),
      'is encrypted: remove its password',
    ],
    ['a DOC', () => compound('WordDocument'), 'is of an old Office (DOC, XLS, PPT): save it as'],
    [
      'a scan',
      () => pdf([{ hasPicture: true }, { hasPicture: true }]),
      'has no text; 2 pages of pict',
    ],
    ['a PDF of empty pages', () => pdf([{}]), 'has no text; 1 page without any'],
    ['a DOCX of pictures', () => docx('<w:p><w:drawing/></w:p>'), 'has no text'],
    [
      '10,000 pages',
      () => pdf(Array.from({ length: 10_000 }, () => ({}))),
      'has 10000 pages; at most 2000 are read: send a part of it',
    ],
    [
      '2,001 sheets',
      () => openDocument('spreadsheet', SHEET.repeat(2001)),
      'has more than 2000 sheets; at most 2000',
    ],
    [
      'too many characters by shared texts',
      () => xlsx({ S: '<row><c t="s"><v>0</v></c></row>'.repeat(500) }, ['x'.repeat(10_000)]),
      'has more than 4000000 characters: send a part of it',
    ],
    [
      'a ZIP bomb',
      () => docx('', {}, [{ name: 'word/_rels/document.xml.rels', content: 'x', size: BIG }]),
      'is too large once it is unpacked: at most 134217728 bytes',
    ],
    [
      'a ZIP bomb that lies about its size',
      () =>
        docx('', {}, [{ name: 'word/_rels/document.xml.rels', content: 'x'.repeat(99), size: 9 }]),
      'is damaged: it cannot be read',
    ],
    [
      'too many parts',
      () => withEntries(docx(''), 20_001),
      'is too large once it is unpacked: at most',
    ],
    [
      'a part that is there twice',
      () => docx('', {}, [{ name: 'word/document.xml', content: '' }]),
      'it has a part twice',
    ],
    [
      'a path that leads out',
      () => docx('', { '../../etc/passwd': '' }),
      'is damaged: it cannot be read',
    ],
    [
      'a main part elsewhere',
      () => elsewhere('http://evil.example/a.xml'),
      'is damaged: it has no a.xml',
    ],
    [
      'an external main part',
      () => elsewhere('word/other.xml" TargetMode="External'),
      'does not say which',
    ],
    ['a billion laughs', () => withDoctype(LAUGHS), 'its XML declares a document type'],
    ['an external entity', () => withDoctype(LEAK), 'its XML declares a document type'],
    ['an unknown entity', () => docx('<w:t>&who;</w:t>'), 'its XML is not well-formed'],
    ['XML that is cut', () => docx('<w:p><w:r>'), 'its XML is not well-formed'],
    [
      'a DOCX that is cut',
      () => docx(paragraph('x')).subarray(0, -30),
      'is damaged: it is cut off',
    ],
    [
      'a PDF that is cut',
      () => pdf([{ lines: ['x'] }]).subarray(0, 200),
      'is damaged: it is no whole PDF',
    ],
    ['a PDF that is none', () => Buffer.from('%PDF-1.7\nreally'), 'is damaged: it is no whole PDF'],
    [
      'an archive in an archive',
      () => archive({ 'a.docx': docx(paragraph('x')) }),
      'is an archive and none of',
    ],
    ['a gzip', () => Buffer.from('1f8b0800', 'hex'), 'is a gzip archive'],
    ['an EPUB', () => archive({ mimetype: 'application/epub+zip' }), 'is an archive and none of'],
    ['a workbook without sheets', () => xlsx({}), 'is damaged: it has no sheets'],
    [
      'elements within elements',
      () => docx(`${'<w:p>'.repeat(DEEP)}${'</w:p>'.repeat(DEEP)}`),
      'has no text',
    ],
  ])('is refused of %s, in words', async (_, make, problem) => {
    expect(await read(make())).toContain(problem)
  })
})

describe('the process that reads documents', () => {
  // As in an image: without the right to read other files, to write, or to start programs.
  const flags = process.allowedNodeEnvironmentFlags.has('--permission')
    ? ['--permission', `--allow-fs-read=${programPath('documents')}`]
    : []
  const readDocument = createDocumentReader([...flags, programPath('documents')])
  const problemOf = (bytes: Buffer, signal?: AbortSignal): Promise<string> =>
    readDocument({ name: 'a.pdf', bytes }, signal).then(
      () => 'none',
      (thrown: unknown) => toError(thrown).message,
    )

  it('answers with the text and how much of it there is', async () => {
    const bytes = pdf([{ lines: ['One'] }, { lines: ['Two'] }])
    expect(await readDocument({ name: 'a.pdf', bytes })).toEqual({
      text: '[Page 1]\nOne\n\n[Page 2]\nTwo',
      extent: '2 pages',
    })
  })

  it.runIf(process.platform === 'linux')(
    'dies of a page that inflates, and not this one',
    async () => {
      const bytes = pdf([{}], { content: inflating(200_000_000) })
      const before = process.memoryUsage.rss()
      expect(await problemOf(bytes)).toBe(
        'The file a.pdf takes more than 256 MiB of memory to read: send a part of it.',
      )
      expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024)
    },
  )

  it('ends with what asked for it', async () => {
    const stop = new AbortController()
    const asked = problemOf(pdf([{ lines: ['x'] }]), stop.signal)
    stop.abort(new Error('The run was stopped.'))
    expect(await asked).toBe('The run was stopped.')
  })

  it('is no fault of the file when it cannot run', async () => {
    const broken = createDocumentReader(['/nowhere/main.js'])
    await expect(broken({ name: 'a.pdf', bytes: pdf([{}]) })).rejects.toMatchObject({
      code: 'internal',
    })
  })

  it('is found beside the sources', () => {
    expect(documentsProgram().at(-1)).toMatch(/services\/documents\/main\.ts$/)
  })
})
