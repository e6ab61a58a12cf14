/**
 * Mends the queues of postgres 3.4.9 after each installation. A queue that is never empty, such as that of a pool's idle
 * connections, kept a hole for each item that ever left it, and looked through all of them with each query: after some
 * hundred thousand queries most of a query's time went there. Remove this file when the driver does without it.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../node_modules/postgres/src/queue.js', import.meta.url)
const GIVEN = `      } else {
        xs[index - 1] = undefined
      }`
// As soon as the holes are the larger part: it costs no more than the items did.
const MENDED = `      } else if (index * 2 > xs.length) {
        xs = xs.slice(index)
        index = 0
      } else {
        xs[index - 1] = undefined
      }`

const text = readFileSync(file, 'utf8')
if (!text.includes(MENDED)) {
  if (!text.includes(GIVEN))
    throw new Error(`${file.pathname} is not what this was written for: is it mended?`)
  writeFileSync(file, text.replace(GIVEN, MENDED))
}
