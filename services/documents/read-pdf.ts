import { getDocumentProxy } from 'unpdf'
import { DOCUMENT_LIMITS } from '../shared/documents/limits.ts'
import { ENCRYPTED } from '../shared/documents/document-types.ts'
import { createTextWriter, damaged, Refusal, tooManyPages } from './document-text.ts'
import type { DocumentText } from './document-text.ts'

/** Nothing of a file is run, drawn or loaded from elsewhere. */
const OPTIONS = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  stopAtErrors: false,
  verbosity: 0,
}

/** Reads the text of a PDF, page by page. Raises a `Refusal`. */
export async function readPdf(bytes: Buffer): Promise<DocumentText> {
  const isOfPictures = /\/Subtype\s*\/Image\b/.test(bytes.toString('latin1'))
  const pdf = await open(bytes)
  const { numPages } = pdf
  if (numPages > DOCUMENT_LIMITS.pages) throw tooManyPages('page', numPages)
  if (numPages < 1) throw damaged('it has no pages')
  const writer = createTextWriter('page')
  let hasText = false
  for (let number = 1; number <= numPages; number += 1) {
    const text = await textOf(pdf, number)
    const isEmpty = text.trim() === ''
    hasText ||= !isEmpty
    writer.begin()
    writer.add(isEmpty ? '(This page has no text.)' : text)
  }
  if (hasText) return writer.end()
  const what = isOfPictures ? 'of pictures' : 'without any'
  const pages = numPages === 1 ? '1 page' : `${numPages} pages`
  throw new Refusal(`has no text; ${pages} ${what}: send what a program for OCR makes of it`)
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

async function open(bytes: Buffer): Promise<Pdf> {
  try {
    return await getDocumentProxy(new Uint8Array(bytes), OPTIONS)
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'PasswordException') throw new Refusal(ENCRYPTED)
    throw damaged('it is no whole PDF')
  }
}

async function textOf(pdf: Pdf, number: number): Promise<string> {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  page.cleanup()
  return items
    .map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
    .join('')
}
