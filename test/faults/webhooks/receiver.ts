import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * A receiver as a program that can be killed: it writes down what it accepts before it says so.
 * Some calls it refuses, and to some it gives no answer.
 */
const [port = '', ledger = ''] = process.argv.slice(2)

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    const fate = Math.random()
    if (fate < 0.05) return void response.writeHead(503).end()
    appendFileSync(ledger, `${JSON.stringify({ headers: request.headers, body })}\n`)
    if (fate > 0.98) return void response.destroy()
    response.writeHead(204).end()
  })
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('started\n'))
