// A worker and a crew in a process of their own, which notes each address that it connects to:
// `ready` on its output once they are there, and what was connected to once its input ends. Its
// database is behind a socket of the file system, which is there in each network namespace.
import dgram from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { start as startCrew } from '../../../../services/crew/start.ts'
import { markOnline } from '../../../../services/platform/automations/automations.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { start as startWorker } from '../../../../services/worker/start.ts'
import { startAdapter } from '../../../python/adapter.ts'
import { addressUrl } from '../../../support/address-url.ts'

/** What it is told. */
export interface Alone {
  readonly crew: Record<string, string>
  /** How the crew of a source is started in place of one that runs definitions. */
  readonly source?: Parameters<typeof startAdapter>[0]
  /** The address of a crew that is there already. */
  readonly crewUrl?: string
  readonly worker: Record<string, string>
  readonly deploymentId: number
  readonly bridge: string
}

/** What it connected to, by address, and how many sockets without connections it opened. */
export interface Connected {
  readonly addresses: Record<string, number>
  readonly datagrams: number
  /** How often the crew of a source wanted to ask somebody. */
  readonly refused: number
}

const addresses: Record<string, number> = {}
let datagrams = 0
let refused = (): number => 0
let stop = async (): Promise<unknown> => undefined

function watchSockets(): void {
  const original: unknown = Reflect.get(Socket.prototype, 'connect')
  if (typeof original !== 'function') throw new Error('sockets do not connect')
  Socket.prototype.connect = function watched(this: Socket, ...given: unknown[]) {
    const [first] = Array.isArray(given[0]) ? (given[0] as unknown[]) : given
    const { path, host, port } = Object(first) as Record<string, unknown>
    const address = path === undefined ? `${String(host)}:${String(port)}` : 'the database'
    addresses[address] = (addresses[address] ?? 0) + 1
    return Reflect.apply(original, this, given) as Socket
  }
  const create = dgram.createSocket
  dgram.createSocket = ((...given: Parameters<typeof create>) => {
    datagrams += 1
    return create(...given)
  }) as typeof create
}

/** Starts the crew of a source, which says on its log what it was refused. */
async function startSource(options: Parameters<typeof startAdapter>[0]) {
  const adapter = await startAdapter(options)
  await adapter.ready()
  refused = () => adapter.log().match(/\S+ is refused: this is a replay/g)?.length ?? 0
  stop = adapter.stop
  return adapter
}

async function main({ crewUrl, crew, source, worker, deploymentId, bridge }: Alone): Promise<void> {
  watchSockets()
  const log = createLog({ name: 'test', level: 'silent' })
  const near = createServer((socket) => {
    const far = connect({ path: bridge })
    socket.pipe(far).pipe(socket)
    for (const each of [socket, far]) each.on('error', () => [socket, far].map((s) => s.destroy()))
  })
  near.listen(0, '127.0.0.1')
  await once(near, 'listening')
  const { port } = near.address() as AddressInfo
  const database = { ...parseAddress(worker['DATABASE_URL'] ?? ''), host: '127.0.0.1', port }
  const sql = connectDatabase(database, { name: 'test', max: 1 })
  const service =
    crewUrl === undefined
      ? await (source ? startSource(source) : startCrew(crew, { log }))
      : { url: crewUrl }
  await markOnline(sql, deploymentId, service.url)
  await sql.end()
  const expected = new Set(['the database', `127.0.0.1:${port}`, new URL(service.url).host])
  await startWorker({ ...worker, DATABASE_URL: addressUrl(database) }, { log })
  process.stdout.write('ready\n')
  for await (const _ of process.stdin);
  const others = Object.entries(addresses).filter(([address]) => !expected.has(address))
  const found: Connected = { addresses: Object.fromEntries(others), datagrams, refused: refused() }
  await stop()
  process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0))
}

await main(JSON.parse(process.env['ALONE'] ?? '{}') as Alone)
