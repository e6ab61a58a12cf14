import { connect } from 'node:net'

/**
 * Sends bytes to the server of a URL as they are, and resolves to all that comes back until it
 * closes.
 */
export async function exchange(
  url: string,
  lines: readonly string[],
  body: string | Buffer = '',
): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  // A server that answers early may reset the rest of what is sent: what it answered counts.
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(parts).toString()
}

/** The head of a request, line by line, after which the server closes the connection. */
export const requestLines = (line: string, ...headers: string[]): string[] => [
  `${line} HTTP/1.1`,
  'Host: platform.test',
  'Connection: close',
  ...headers,
]

export const statusOf = (answer: string): string => answer.slice(9, 12)

/** An answer without the only thing in it that may differ from one moment to the next. */
export const withoutDate = (answer: string): string => answer.replace(/^Date: .*$/im, 'Date: -')
