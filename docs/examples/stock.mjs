// An API for agents, without a dependency: node docs/examples/stock.mjs 4390
import { createServer } from 'node:http'

const port = Number(process.argv[2] ?? 4390)
const STOCK = { bolts: 120, nuts: 75, washers: 0 }

const item = { name: 'item', in: 'path', required: true, schema: { type: 'string' } }
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Stock', version: '1' },
  servers: [{ url: `http://127.0.0.1:${port}` }],
  paths: {
    '/stock/{item}': {
      get: {
        operationId: 'getStock',
        summary: 'How many pieces of an item are in stock: bolts, nuts or washers',
        parameters: [item],
        responses: { 200: { description: 'The number of pieces.' } },
      },
    },
  },
}

createServer(({ url = '' }, response) => {
  const name = decodeURIComponent(url.replace('/stock/', ''))
  const known = Object.hasOwn(STOCK, name)
  const body = url === '/openapi.json' ? DOCUMENT : known ? { pieces: STOCK[name] } : undefined
  response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body ?? { message: `There is no ${name} in this shop.` }))
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/openapi.json`))
