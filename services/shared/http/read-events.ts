/** Reads the data of each event of a stream (server-sent events); other fields are left out. */
export async function* readEvents(
  stream: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let size = 0
  let rest = ''
  let data: string[] = []
  for await (const chunk of stream) {
    size += chunk.length
    if (size > bytesMax) throw new RangeError(`more than ${bytesMax} bytes`)
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '' && data.length > 0) yield data.join('\n')
      if (line === '') data = []
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    }
  }
}
