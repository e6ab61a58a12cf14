import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../support/program.ts'
import { freePort } from '../../support/free-port.ts'
import { few } from '../../support/long.ts'
import { createHarness, SECRET } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { A, tenantOf } from './support/tokens.ts'

const env = { COLLECTOR_JWT_SECRET: SECRET }
const run = (...args: string[]) => runProgram('collector', args, env)
const HOUR = 3_600_000

describe('the commands to export and to import', () => {
  let source: Harness
  let target: Harness
  const directory = mkdtempSync(join(tmpdir(), 'export-'))
  const file = join(directory, 'spans.jsonl')
  const start = Date.now() - HOUR
  beforeAll(async () => {
    ;[source, target] = await Promise.all([createHarness(), createHarness()])
    const spans = Array.from({ length: 600 }, (_, i) =>
      spanOf({
        name: `${i}`,
        startTimeUnixNano: nanos(start + i),
        attributes: [textAttribute('large', 'ü'.repeat(300)), textAttribute('small', 'x')],
        events: [{ name: 'event', timeUnixNano: nanos(start) }],
      }),
    )
    await tenantOf(source, A).send(toProtobuf(requestOf(...spans)))
    await tenantOf(source).send(toProtobuf(requestOf(spanOf({ name: 'of the platform' }))))
  })
  afterAll(() => Promise.all([source.stop(), target.stop()]))

  const range = ['--from', new Date(start).toISOString()]
  const contentOf = async ({ sql }: Harness): Promise<unknown> => sql`
    select trace_id, span_id, start_time, start_ns, duration_ns, name, attributes::text, payload,
      events
    from spans where organization = ${A} order by start_time`
  /** A file with these lines. */
  const write = (name: string, ...lines: string[]): string => {
    const path = join(directory, name)
    writeFileSync(path, lines.join('\n'))
    return path
  }
  const imported = (path: string, ...args: string[]) =>
    run('import', path, '--url', target.collector.url, ...args)
  const lineOf = (...spans: Parameters<typeof requestOf>): string =>
    JSON.stringify(requestOf(...spans))

  it('carry the spans of an organization from one collector to another, once', async () => {
    const args = ['--url', source.collector.url, ...range, '--org', A, '--out', file]
    const written = await run('export', ...args)
    expect(written).toMatchObject({ code: 0, stdout: '' })
    expect(written.stderr).toMatch(/^\d lines; the export is whole\.\n$/)
    for (let time = 0; time < 2; time++) {
      const { code, stdout } = await imported(file, '--org', A)
      expect(stdout).toMatch(/: \d lines, 600 spans stored or there already, 0 rejected; 0 lines/)
      expect(code).toBe(0)
      expect(await contentOf(target)).toEqual(await contentOf(source))
    }
    const again = await run('export', ...args)
    expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining('--out cannot be') })
  }, 180_000)

  it('go on where a connection was lost', async () => {
    // A collector that is replaced after each line.
    const proxy = createServer((request, response) => {
      const { authorization = '' } = request.headers
      void fetch(`${source.collector.url}${request.url}`, { headers: { authorization } })
        .then((answer) => answer.text())
        .then((text) => {
          const [first = '', second = ''] = text.split('\n')
          response.write(`${first}\n${second.slice(0, 20)}`, () => response.destroy())
        })
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { code, stdout } = await run('export', '--url', url, ...range, '--org', A)
    proxy.close()
    expect(code).toBe(0)
    const names = [...stdout.matchAll(/"name":"(\d+)"/g)].map(([, name]) => name)
    expect(names).toEqual(Array.from({ length: 600 }, (_, i) => `${i}`))
  }, 180_000)

  it('say which lines are foreign, cut or rejected, and take the others', async () => {
    const old = spanOf({ startTimeUnixNano: nanos(Date.now() - 30 * 24 * HOUR) })
    const good = spanOf({ name: 'good' })
    const path = write(
      'mixed.jsonl',
      lineOf(good),
      'not json',
      '{"logs": []}',
      '',
      lineOf(old),
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":7}]}]}]}',
      lineOf(spanOf()).slice(0, 40),
    )
    const { code, stdout, stderr } = await imported(path)
    expect(code).toBe(1)
    expect(stderr).toContain(`${path}:2: this is not JSON`)
    expect(stderr).toContain(`${path}:3: this is no trace request of OTLP`)
    expect(stderr).toMatch(/:5: Spans were rejected: 1 too_old/)
    expect(stderr).toMatch(/:6: .*(400|rejected)/)
    expect(stderr).toContain(`${path}:7: the line was cut off: the file ends within it`)
    expect(stdout).toContain('1 spans stored')
    const rows = await target.sql`select name from spans where name = 'good'`
    expect(rows).toHaveLength(1)
  })

  it('see that an export is not whole', async () => {
    const lines = readFileSync(file, 'utf8').split('\n')
    const { code, stderr } = await imported(write('part.jsonl', `${lines[0]}\n`), '--org', A)
    expect(code).toBe(1)
    expect(stderr).toContain(':1: the export ends here before its end')
  })

  it('read files that are compressed', async () => {
    const path = join(directory, 'spans.jsonl.gz')
    writeFileSync(path, gzipSync(`${lineOf(spanOf({ traceId: freshId() + freshId() }))}\n`))
    expect((await imported(path)).code).toBe(0)
  })

  it('end with 3 when nothing can be tried', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const cases: [string[], RegExp][] = [
      [['import', '--url', nowhere], /Which files\?/],
      [['import', file], /--url is required/],
      [['import', join(directory, 'missing'), '--url', nowhere], /missing cannot be read: ENOENT/],
      [['export', '--url', nowhere], /--from is required/],
      [['export', '--url', source.collector.url, '--from', 'x'], /from must be a time/],
      [['export', '--url', nowhere, ...range, '--org', ''], /--org must have 1 to 64/],
    ]
    const ended = await Promise.all(few(cases, 2).map(([args]) => run(...args)))
    for (const [index, { code, stderr }] of ended.entries()) {
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringMatching(cases[index]?.[1] ?? /^$/),
      })
    }
  })
})
