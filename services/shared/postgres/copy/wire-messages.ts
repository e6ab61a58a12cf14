import { AppError } from '../../errors.ts'

/** The version of the messages: 3.0. COPY needs no more of them than this file has. */
const PROTOCOL = 196_608

const text = (value: string): Buffer => Buffer.from(`${value}\0`)

/** Four bytes. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

/** Opens a session with these parameters. */
export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).map(([name, value]) => text(name + '\0' + value))
  const body = Buffer.concat([int32(PROTOCOL), ...pairs, Buffer.alloc(1)])
  return Buffer.concat([int32(body.length + 4), body])
}

/** One statement, or several. */
export const queryMessage = (statement: string): Buffer => message('Q', text(statement))
/** The password in clear. */
export const passwordMessage = (password: string): Buffer => message('p', text(password))
/** The next message of a SASL exchange. */
export const saslResponse = (response: string): Buffer => message('p', Buffer.from(response))
/** The end of the session. */
export const terminateMessage = (): Buffer => message('X')
/** The end of the data of a COPY. */
export const copyDone = (): Buffer => message('c')

/** The choice of a SASL mechanism, and the first message of its exchange. */
export function saslInitialResponse(mechanism: string, response: string): Buffer {
  return message('p', text(mechanism), int32(Buffer.byteLength(response)), Buffer.from(response))
}

/** The end of a COPY whose data cannot be had. */
export const copyFail = (why: string): Buffer => message('f', text(why))

/** The head of a CopyData message; `size` bytes of data follow it. */
export const copyDataHead = (size: number): Buffer =>
  Buffer.concat([Buffer.from('d'), int32(size + 4)])

/** A message of the server, without its length. */
export interface ServerMessage {
  readonly type: string
  readonly body: Buffer
}

/** Cuts a byte stream into messages; `onMessage` gets each as soon as it is complete. */
export function createSplitter(
  onMessage: (message: ServerMessage) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (bytes.length - at >= 5) {
      const end = at + 1 + bytes.readInt32BE(at + 1)
      if (bytes.length < end) break
      onMessage({ type: String.fromCharCode(bytes[at] ?? 0), body: bytes.subarray(at + 5, end) })
      at = end
    }
    rest = bytes.subarray(at)
  }
}

/**
 * Reads an ErrorResponse as an error with `details.sqlstate`. The detail and context fields, which
 * quote data, stay out.
 */
export function serverError(body: Buffer): AppError {
  const fields = new Map<string, string>()
  for (const field of body.toString('utf8').split('\0')) {
    if (field !== '') fields.set(field.slice(0, 1), field.slice(1))
  }
  const details = { sqlstate: fields.get('C') ?? 'XX000' }
  return new AppError('unavailable', fields.get('M') ?? 'The database refused.', { details })
}

/** The command tag of a CommandComplete, such as `COPY 512`. */
export const commandTag = (body: Buffer): string => body.toString('latin1', 0, body.length - 1)

/** A row of a result: the text of each value, null for none. */
export type Row = readonly (string | null)[]

/** Reads a DataRow. */
export function dataRow(body: Buffer): Row {
  const row: (string | null)[] = []
  let at = 2
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(at)
    at += 4
    row.push(length < 0 ? null : body.toString('utf8', at, at + length))
    at += Math.max(length, 0)
  }
  return row
}
