const OOXML = 'application/vnd.openxmlformats-officedocument'
const ODF = 'application/vnd.oasis.opendocument'

const PDF = 'application/pdf'

/** Office documents by a part that each of them has. */
const PARTS: readonly (readonly [part: string, mediaType: string])[] = [
  ['word/', `${OOXML}.wordprocessingml.document`],
  ['xl/', `${OOXML}.spreadsheetml.sheet`],
  ['ppt/', `${OOXML}.presentationml.presentation`],
]
const ODF_TYPES = [`${ODF}.text`, `${ODF}.spreadsheet`, `${ODF}.presentation`]
const DOCUMENT_TYPES = new Set([PDF, ...PARTS.map(([, type]) => type), ...ODF_TYPES])

/** The documents that are read as text, in words. */
export const DOCUMENTS = 'PDF, DOCX, XLSX, PPTX, ODT, ODS and ODP'

/** Returns true for a document whose text is read by a process of its own. */
export const isDocumentType = (mediaType: string): boolean => DOCUMENT_TYPES.has(mediaType)

/** What a file is by its bytes: the media type of a document, or why it cannot be read. */
type Detected = { readonly mediaType: string } | { readonly problem: string }

const HEAD_BYTES = 1024
/** The directory of a ZIP archive is at its end. */
const DIRECTORY_BYTES = 4 * 1024 * 1024
const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex')
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le')

/** Why a document cannot be read that has a password. */
export const ENCRYPTED = 'is encrypted: remove its password, and send it again'

const OTHERS: readonly (readonly [beginning: string, problem: string])[] = [
  ['\x1f\x8b', 'is a gzip archive: send the files in it'],
  ['7z\xbc\xaf', 'is a 7z archive: send the files in it'],
  ['Rar!', 'is a RAR archive: send the files in it'],
]

/**
 * Returns what a file is by its bytes, whatever its name says; undefined for one that is neither a
 * document nor an archive.
 */
export function detectDocument(bytes: Buffer): Detected | undefined {
  const head = bytes.toString('latin1', 0, HEAD_BYTES)
  // Readers of PDF take one with some bytes before it.
  if (head.startsWith('%PDF-') || /^[\s\0\xef\xbb\xbf]*%PDF-\d/.test(head)) {
    return { mediaType: PDF }
  }
  if (head.startsWith('PK\x03\x04') || head.startsWith('PK\x05\x06')) return detectZip(bytes)
  if (bytes.subarray(0, COMPOUND.length).equals(COMPOUND)) {
    if (bytes.includes(ENCRYPTED_PACKAGE)) return { problem: ENCRYPTED }
    return { problem: 'is of an old Office (DOC, XLS, PPT): save it as DOCX, XLSX, PPTX or PDF' }
  }
  const other = OTHERS.find(([beginning]) => head.startsWith(beginning))
  return other && { problem: other[1] }
}

function detectZip(bytes: Buffer): Detected {
  // An OpenDocument says its type in its first entry, which is not compressed.
  const said = /mimetype(application\/[\w.-]+?)PK/.exec(bytes.toString('latin1', 0, HEAD_BYTES))
  const odf = ODF_TYPES.find((type) => type === said?.[1])
  if (odf !== undefined) return { mediaType: odf }
  const end = bytes.subarray(-DIRECTORY_BYTES)
  if (end.includes('[Content_Types].xml')) {
    const found = PARTS.find(([part]) => end.includes(part))
    if (found) return { mediaType: found[1] }
  }
  return { problem: `is an archive and none of ${DOCUMENTS}: send the files in it` }
}
