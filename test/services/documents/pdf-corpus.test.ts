import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createDocumentReader } from '../../../services/shared/documents/read-document.ts'
import { toError } from '../../../services/shared/errors.ts'
import { isLong } from '../../support/long.ts'
import { programPath } from '../../support/program.ts'
import { assemble, stream } from './corpus.ts'
import { read } from './read.ts'

/** What of a PDF of one page is odd, as it is written there. */
interface Oddity {
  /** Behind what each of these has. */
  readonly catalog?: string
  readonly pages?: string
  readonly page?: string
  readonly resources?: string
  /** The dictionary and the bytes of what the page draws. */
  readonly content?: readonly [entries: string, bytes: Buffer | string]
  /** Objects from number 6 on. */
  readonly objects?: readonly string[]
  /** Where the table of objects is said to be. */
  readonly startxref?: number
  readonly trailer?: string
}

const DRAWN = 'BT /F1 12 Tf 50 750 Td (Hello) Tj ET'

/** Makes a PDF of one page that says Hello, with oddities. */
export function oddPdf(odd: Oddity): Buffer {
  const [entries, bytes] = odd.content ?? ['', DRAWN]
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R ${odd.catalog ?? ''} >>`,
    odd.pages ?? '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
    odd.page ??
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R ' +
        `/Resources << /Font << /F1 5 0 R >> ${odd.resources ?? ''} >> >>`,
    stream(entries, Buffer.from(bytes)),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...(odd.objects ?? []),
  ]
  const made = assemble(objects).toString('latin1')
  const at = odd.startxref
  const moved = at === undefined ? made : made.replace(/startxref\n\d+/, `startxref\n${at}`)
  const whole = moved.replace('/Root 1 0 R', `/Root 1 0 R ${odd.trailer ?? ''}`)
  return Buffer.from(whole, 'latin1')
}

const streamOf = (entries: string, content: Buffer | string): string =>
  stream(entries, Buffer.from(content))

/** The same file with something in it replaced. */
const changed = (from: string | RegExp, to: string): Buffer =>
  Buffer.from(oddPdf({}).toString('latin1').replace(from, to), 'latin1')

const placeOfTable = (file: Buffer): string =>
  /startxref\n(\d+)/.exec(file.toString('latin1'))?.[1] ?? ''

function hexed(text: string, times: number): string {
  return times === 0 ? text : hexed(`${Buffer.from(text, 'latin1').toString('hex')}>`, times - 1)
}

const FORM = '/Type /XObject /Subtype /Form /BBox [0 0 9 9]'
const showing = (operand: string, font = 'F1'): readonly [string, string] => [
  '',
  `BT /${font} 12 Tf 50 750 Td ${operand} Tj ET`,
]

/** A file, and behind it what somebody changed later. */
function revised(): Buffer {
  const first = oddPdf({})
  const [, drawn] = showing('(Second)')
  const object = `4 0 obj\n${streamOf('', drawn)}\nendobj\n`
  const table = `xref\n4 1\n${String(first.length).padStart(10, '0')} 00000 n \n`
  const trailer = `trailer\n<< /Size 6 /Root 1 0 R /Prev ${placeOfTable(first)} >>\n`
  const end = `startxref\n${first.length + object.length}\n%%EOF\n`
  return Buffer.concat([first, Buffer.from(`${object}${table}${trailer}${end}`, 'latin1')])
}

/** Forms of which each draws the next one twice. */
const doubling = (forms: number): Buffer =>
  oddPdf({
    content: ['', '/X Do'],
    resources: '/XObject << /X 6 0 R >>',
    objects: Array.from({ length: forms }, (_, index) =>
      streamOf(
        `${FORM} /Resources << /Font << /F1 5 0 R >> /XObject << /X ${index + 7} 0 R >> >>`,
        index === forms - 1 ? DRAWN : '/X Do /X Do',
      ),
    ),
  })

const RANGES = '1 beginbfrange <0000> <ffff> <0041> endbfrange '.repeat(20)
const HUGE_MAP = [
  '<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H ' +
    '/DescendantFonts [8 0 R] /ToUnicode 7 0 R >>',
  streamOf('', `begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange ${RANGES} endcmap`),
  '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A ' +
    '/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> ' +
    '/FontDescriptor << /Type /FontDescriptor /FontName /A /Flags 4 >> >>',
]
const BROKEN_FONT = [
  '<< /Type /Font /Subtype /TrueType /FontDescriptor << /FontFile2 7 0 R >> >>',
  streamOf('', Buffer.alloc(300, 255)),
]
const XFA = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
const ATTACHED = '<< /Type /Filespec /F (a) /EF << /F 6 0 R >> >>'
const HELLO = '[Page 1]\nHello'

describe('an odd PDF', () => {
  it.each<[string, () => Buffer, string]>([
    ['has no table of objects', () => changed(/xref[^]*trailer/, 'trailer'), HELLO],
    ['has its table elsewhere', () => oddPdf({ startxref: 5 }), HELLO],
    [
      'has a table that follows itself',
      () => changed('/Root', `/Prev ${placeOfTable(oddPdf({}))} /Root`),
      HELLO,
    ],
    ['was changed later', revised, '[Page 1]\nSecond'],
    ['has a stream of another length', () => changed(/\/Length \d+/, '/Length 9999999'), HELLO],
    ['has an unknown filter', () => oddPdf({ content: ['/Filter /FooDecode', DRAWN] }), HELLO],
    [
      'has filters on filters',
      () => oddPdf({ content: [`/Filter [${'/ASCIIHexDecode '.repeat(8)}]`, hexed(DRAWN, 8)] }),
      HELLO,
    ],
    [
      'draws a form within itself',
      () =>
        oddPdf({
          content: ['', `${DRAWN} /X Do`],
          resources: '/XObject << /X 6 0 R >>',
          objects: [streamOf(`${FORM} /Resources << /XObject << /X 6 0 R >> >>`, '/X Do')],
        }),
      HELLO,
    ],
    ['draws forms that draw forms', () => doubling(3), 'HelloHelloHello'],
    [
      'has a script',
      () => oddPdf({ catalog: '/OpenAction << /S /JavaScript /JS (while\\(1\\);) >>' }),
      HELLO,
    ],
    [
      'starts a program',
      () => oddPdf({ catalog: '/OpenAction << /S /Launch /F (/bin/sh) >>' }),
      HELLO,
    ],
    [
      'has its content in another file',
      () => oddPdf({ content: ['/F (file:///etc/passwd)', DRAWN] }),
      HELLO,
    ],
    [
      'has a form in XML with an entity',
      () => oddPdf({ catalog: '/AcroForm << /XFA 6 0 R >>', objects: [streamOf('', XFA)] }),
      HELLO,
    ],
    [
      'has a program attached',
      () =>
        oddPdf({
          catalog: `/Names << /EmbeddedFiles << /Names [(a) ${ATTACHED}] >> >>`,
          objects: [streamOf('/Type /EmbeddedFile', 'MZ')],
        }),
      HELLO,
    ],
    ['has a page of no size', () => changed('0 0 600 800', '0 0 0 0'), HELLO],
    ['names a font that is missing', () => oddPdf({ content: showing('(Hello)', 'F9') }), HELLO],
    [
      'writes letters as numbers',
      () => oddPdf({ content: showing('(\\110\\145llo \\(you\\))') }),
      '[Page 1]\nHello (you)',
    ],
    [
      'has a line that leaves the page',
      () => oddPdf({ content: showing(`(${'x'.repeat(10_000)})`) }),
      `[Page 1]\n${'x'.repeat(50)}`,
    ],
    [
      'maps all letters many times',
      () =>
        oddPdf({
          content: showing('<0001>', 'F2'),
          resources: '/Font << /F2 6 0 R >>',
          objects: HUGE_MAP,
        }),
      '[Page 1]\nB',
    ],
  ])('%s, and is read', async (_, make, text) => {
    expect(await read(make())).toContain(text)
  })

  it.each<[string, () => Buffer, string]>([
    [
      'has a tree of pages within itself',
      () => oddPdf({ pages: '<< /Type /Pages /Count 2 /Kids [2 0 R 3 0 R] >>' }),
      'is damaged: it cannot be read',
    ],
    ['has a page that is nothing', () => oddPdf({ page: 'null' }), 'is damaged: it cannot be read'],
    [
      'has a page that is not there',
      () => oddPdf({ pages: '<< /Type /Pages /Count 2 /Kids [3 0 R 99 0 R] >>' }),
      'is damaged: it cannot be read',
    ],
    ['has a page that is itself', () => oddPdf({ page: '3 0 R' }), 'is damaged: it cannot be read'],
    [
      'has fewer pages than none',
      () => oddPdf({ pages: '<< /Type /Pages /Count -5 /Kids [3 0 R] >>' }),
      'is damaged: it has no pages',
    ],
    [
      'has a page without content',
      () => oddPdf({ page: '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 6 8] >>' }),
      'has no text; 1 page without any',
    ],
    [
      'has a stream that is cut',
      () => {
        const cut = deflateSync(Buffer.from(DRAWN.repeat(50))).subarray(0, 30)
        return oddPdf({ content: ['/Filter /FlateDecode', cut] })
      },
      'has no text; 1 page without any',
    ],
    [
      'has a font that is none',
      () =>
        oddPdf({
          content: showing('(Hello)', 'F2'),
          resources: '/Font << /F2 6 0 R >>',
          objects: BROKEN_FONT,
        }),
      'has no text; 1 page without any',
    ],
    [
      'has lists within lists',
      () => oddPdf({ content: ['', `${'['.repeat(100_000)} ${DRAWN}`] }),
      'has no text; 1 page without any',
    ],
    [
      'has dictionaries within dictionaries',
      () => oddPdf({ catalog: `/A ${'<< /A '.repeat(20_000)} 1 ${'>>'.repeat(20_000)}` }),
      'is damaged: it is no whole PDF',
    ],
    ['has no root', () => changed('/Root 1 0 R', ''), 'is damaged: it is no whole PDF'],
    [
      'has a number for a catalog',
      () => changed(/1 0 obj\n<<.*>>/, '1 0 obj\n42'),
      'is damaged: it is no whole PDF',
    ],
    [
      'is nothing but zeros',
      () => Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(100_000)]),
      'is damaged: it is no whole PDF',
    ],
  ])('%s, and is refused in words', async (_, make, problem) => {
    expect(await read(make())).toContain(problem)
  })

  it.runIf(isLong)('that draws a form 16 million times is given up after a minute', async () => {
    const readDocument = createDocumentReader([programPath('documents')])
    const thrown = await readDocument({ name: 'a.pdf', bytes: doubling(24) }).catch(toError)
    expect(thrown).toMatchObject({
      message: 'The file a.pdf takes longer than 60 seconds to read: send a part of it.',
    })
  })
})
