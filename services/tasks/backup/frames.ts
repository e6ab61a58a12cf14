import { AppError } from '../../shared/errors.ts'
import { createByteReader } from '../../shared/object-store/byte-reader.ts'

/** A part of a dump: a note in JSON, or rows of a table as COPY writes them. */
export type Frame =
  | { readonly kind: 'note'; readonly note: unknown }
  | { readonly kind: 'rows'; readonly rows: Buffer }

/** Rows are gathered up to this size. */
export const ROWS_BYTES = 64 * 1024
/** The longest row that PostgreSQL hands out has 1 GiB. */
const FRAME_BYTES_MAX = (1 << 30) + ROWS_BYTES
const HEAD_BYTES = 5
const NOTE = 0x4e
const ROWS = 0x52

/** Writes one part: its kind, its length, its bytes. */
export function writeFrame(frame: Frame): Buffer[] {
  const isNote = frame.kind === 'note'
  const body = isNote ? Buffer.from(JSON.stringify(frame.note)) : frame.rows
  const head = Buffer.alloc(HEAD_BYTES)
  head[0] = isNote ? NOTE : ROWS
  head.writeUInt32BE(body.length, 1)
  return [head, body]
}

/** Reads the parts again. Raises `invalid_request` for bytes that are none. */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  const reader = createByteReader(source)
  while (!(await reader.isAtEnd())) {
    const head = await reader.upTo(HEAD_BYTES)
    const size = head.length === HEAD_BYTES ? head.readUInt32BE(1) : FRAME_BYTES_MAX + 1
    const body = size > FRAME_BYTES_MAX ? undefined : await reader.upTo(size)
    if (body?.length !== size) throw notADump()
    if (head[0] === ROWS) yield { kind: 'rows', rows: body }
    else if (head[0] === NOTE) yield { kind: 'note', note: JSON.parse(body.toString('utf8')) }
    else throw notADump()
  }
}

const notADump = (): AppError =>
  new AppError('invalid_request', 'The backup has a form that this program does not know.')
