import { AppError } from '../errors.ts'
import { damagedTar } from './damaged-tar.ts'

/** What a pax block says of the entry after it, as far as it matters here. */
interface PaxAttributes {
  path?: Buffer
  size?: number
}

const NEWLINE = 0x0a
const SPACE = 0x20

/** Reads a pax block: lines of `length key=value`. Raises `invalid_request`. */
export function readPax(block: Buffer): PaxAttributes {
  const said: PaxAttributes = {}
  for (let at = 0; at < block.length;) {
    const space = block.indexOf(SPACE, at)
    const length = Number(space < 0 ? '' : block.toString('latin1', at, space))
    const end = at + length
    if (!(length > space - at + 1) || end > block.length || block[end - 1] !== NEWLINE) {
      throw damaged()
    }
    const line = block.subarray(space + 1, end - 1)
    const equals = line.indexOf('=')
    if (equals < 1) throw damaged()
    take(said, line.toString('latin1', 0, equals), line.subarray(equals + 1))
    at = end
  }
  return said
}

function take(said: PaxAttributes, key: string, value: Buffer): void {
  if (key === 'path' || key === 'GNU.sparse.name') said.path = value
  if (key.startsWith('GNU.sparse.')) throw sparse()
  if (key !== 'size') return
  const size = Number(value.toString('latin1'))
  if (!Number.isSafeInteger(size) || size < 0) throw damaged()
  said.size = size
}

/** Creates the pax block that names a path; the length of a line counts itself. */
export function writePaxPath(path: Buffer): Buffer {
  const rest = path.length + ' path=\n'.length
  let length = rest + String(rest).length
  length = rest + String(length).length
  return Buffer.concat([Buffer.from(`${length} path=`), path, Buffer.from('\n')])
}

const damaged = () => damagedTar('a pax header is damaged')

const sparse = (): AppError =>
  new AppError(
    'invalid_request',
    'The tar archive has a sparse file, which is not read. Pack it without --sparse.',
  )
