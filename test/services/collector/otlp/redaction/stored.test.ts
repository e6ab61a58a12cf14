import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import { start } from '../../../../../services/collector/start.ts'
import type { Collector } from '../../../../../services/collector/start.ts'
import { startEmbeddedPostgres } from '../../../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import { freePort } from '../../../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../../../support/postgres-password.ts'
import { DATA_CACHE, SERVER_SETTINGS } from '../../../../support/server-settings.ts'
import { environment, JSON_TYPE, postTo, readMetric } from '../../support/harness.ts'
import { spanOf, textAttribute, toJson, toProtobuf } from '../../support/otlp.ts'
import type { AnyValue, KeyValue, TraceRequest } from '../../support/otlp.ts'

const SECRETS = [
  '4111111111111111',
  '4000 0566 5566 5556',
  'sk-proj-Zk3vQ9xL2mN8pR5tW7yB4dF6',
  'AKIAQ7XN4T2WLP9VBK3M',
  'ghp_q8R2vX5nL9kT3wY7mB4cD6fH1jP0sZaEuGiO',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4tNDIifQ.q8R2vX5nL9kT3wY7mB4cD6fH1jP0sZaEuGiOxx',
  'carla.gomez+billing@example.org',
  'DE89370400440532013000',
] as const

const bytes = (text: string): AnyValue => ({ bytesValue: Buffer.from(text).toString('base64') })

/** Values that hold a text in every way that OTLP has. */
const valuesOf = (text: string): KeyValue[] => [
  textAttribute('small', `a ${text} b`),
  textAttribute('large', `${'prompt '.repeat(60)}${text}`),
  textAttribute('cut', `${'x'.repeat(256 * 1024 - 10)} ${text}`),
  textAttribute('json', JSON.stringify({ content: [{ text: `line\n${text}` }] })),
  textAttribute('gen_ai.request.model', text),
  textAttribute('user.id', `user ${text}`),
  textAttribute(`key ${text}`, 'a key'),
  { key: 'list', value: { arrayValue: { values: [{ stringValue: text }, bytes(`b ${text}`)] } } },
  { key: 'map', value: { kvlistValue: { values: [textAttribute(text, text)] } } },
]

const requestWith = (text: string, name: string): TraceRequest => ({
  resourceSpans: [
    {
      resource: { attributes: valuesOf(text) },
      schemaUrl: `https://example.com/?a=${text}`,
      scopeSpans: [
        {
          scope: { name: `scope ${text}`, version: text, attributes: valuesOf(text) },
          schemaUrl: text,
          spans: [
            spanOf({
              name: `${name} ${text}`,
              traceState: `a=${text}`,
              status: { code: 2, message: `failed for ${text}` },
              attributes: valuesOf(text),
              events: [{ name: `event ${text}`, attributes: valuesOf(text) }],
              links: [
                {
                  traceId: '01'.repeat(16),
                  spanId: '02'.repeat(8),
                  traceState: text,
                  attributes: valuesOf(text),
                },
              ],
            }),
          ],
        },
      ],
    },
  ],
})

describe('redaction before commit', () => {
  const data = mkdtempSync(join(tmpdir(), 'redaction-'))
  const lines: string[] = []
  const log = createLog({
    name: 'test',
    level: 'trace',
    destination: { write: (line: string) => void lines.push(line) },
  })
  /** Asked of the server: a test that runs as root has it elsewhere. */
  let files = ''
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>
  const collectors: Collector[] = []

  const collect = async (env: Record<string, string>): Promise<Collector> => {
    const collector = await start({ ...environment(server.url), ...env }, { log, drainMs: 0 })
    collectors.push(collector)
    await collector.ready
    return collector
  }
  /** What of some texts the files of the server hold: each file is read once. */
  const textsInFiles = (texts: readonly string[]): string[] => {
    const found = readdirSync(files, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .flatMap((entry) => {
        const content = readFileSync(join(entry.parentPath, entry.name))
        return texts.filter((text) => content.includes(text))
      })
    return [...new Set(found)]
  }

  beforeAll(async () => {
    const port = await freePort()
    const directory = join(data, 'cluster')
    server = await startEmbeddedPostgres({
      directory,
      port,
      password: POSTGRES_PASSWORD,
      settings: SERVER_SETTINGS,
      cache: DATA_CACHE,
    })
    const sql = connectDatabase(parseAddress(server.url), { name: 'test', max: 1 })
    const [row] = await sql`select current_setting('data_directory') as path`
    files = String(row?.['path'])
    await sql.end()
  }, 180_000)
  afterAll(async () => {
    await Promise.all(collectors.map((one) => one.stop()))
    await server.stop()
    rmSync(data, { recursive: true, force: true })
  })

  it('leaves no secret in any column, rejected row, log line or file of the server', async () => {
    const collector = await collect({ COLLECTOR_REDACT: 'cards,keys,emails,ibans' })
    const sql = connectDatabase(parseAddress(server.url), { name: 'test', max: 1 })
    await sql`alter table spans add constraint tasty check (name not like 'poison%')`
    for (const secret of SECRETS) {
      for (const name of ['work', 'poison']) {
        const request = requestWith(secret, name)
        expect((await postTo(collector.url, toProtobuf(request))).status).toBe(200)
        const headers = { 'content-type': JSON_TYPE }
        expect((await postTo(collector.url, toJson(request), headers)).status).toBe(200)
      }
    }
    await sql`checkpoint`
    const tables = ['spans', 'resources', 'scopes', 'span_rejects']
    const dump: string[] = []
    for (const table of tables) {
      const rows = await sql.unsafe(`select ${table}::text as row from ${table}`)
      expect(rows.length).toBeGreaterThan(0)
      dump.push(...rows.map(({ row }) => String(row)))
    }
    const rejected = await sql`select row_bytes from span_rejects`
    dump.push(...rejected.map(({ rowBytes }) => Buffer.from(rowBytes as Buffer).toString('latin1')))
    const stored = dump.join('\n')
    expect(stored).toContain('[redacted:card]')
    const encoded = SECRETS.map((text) => Buffer.from(`b ${text}`).toString('base64').slice(4, -4))
    const forms = [...SECRETS, ...encoded]
    const logged = lines.join('')
    expect(forms.filter((form) => stored.includes(form) || logged.includes(form))).toEqual([])
    expect(textsInFiles(forms)).toEqual([])
    for (const kind of ['card', 'key', 'email', 'iban']) {
      const marks = await readMetric(collector.metricsUrl, 'collector_redacted_total', { kind })
      expect(marks).toBeGreaterThan(0)
    }
    await sql.end()
  }, 180_000)

  it('is off by default, and then the same search finds each of them', async () => {
    const collector = await collect({})
    for (const secret of SECRETS) {
      await postTo(collector.url, toProtobuf(requestWith(secret, 'work')))
    }
    expect(textsInFiles(SECRETS).toSorted()).toEqual(SECRETS.toSorted())
  }, 180_000)
})
