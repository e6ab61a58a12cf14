import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyCollectorToken } from '../../../services/shared/collector-token.ts'
import { freePort } from '../../support/free-port.ts'
import { runProgram } from '../../support/program.ts'
import { createHarness, JSON_TYPE, postTo, SECRET } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, toJson } from './support/otlp.ts'
import { few } from '../../support/long.ts'

/** `main.js …`, as people and pods run it. */
const runMain = (args: readonly string[], env?: Readonly<Record<string, string>>) =>
  runProgram('collector', args, env)

const withSecret = { COLLECTOR_JWT_SECRET: SECRET }

describe('the commands of the collector', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({}, { revocationsMs: 50 })
  })
  afterAll(() => harness.stop())

  describe('verify', () => {
    it('ends with 0 when what it wrote can be read, and tells the time of each step', async () => {
      const args = ['verify', '--url', `${harness.collector.url}/`, '--json']
      const { code, stdout, stderr } = await runMain(args, withSecret)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const report = JSON.parse(stdout)
      expect(report).toMatchObject({
        ok: true,
        url: harness.collector.url,
        steps: [
          { step: 'health', ok: true, ms: expect.any(Number) },
          { step: 'write', ok: true, message: 'committed' },
          { step: 'read', ok: true, message: 'equal to what was sent' },
        ],
      })
      const rows = await harness.sql`
        select name from spans where trace_id = ${report.trace_id}::uuid order by start_time, name`
      expect(rows).toEqual([{ name: 'collector.verify' }, { name: 'collector.verify.child' }])
    })

    it('takes the secret from the named variable, and ends with 1 when it is another', async () => {
      const args = ['verify', '--url', harness.collector.url, '--secret-env', 'OTHER']
      const good = await runMain(args, { OTHER: SECRET })
      expect(good.code).toBe(0)
      expect(good.stdout).toMatch(/✓ health .*✓ write .*✓ read .*keeps what it acknowledges/s)
      const bad = await runMain(args, { OTHER: SECRET.toUpperCase() })
      expect(bad.code).toBe(1)
      expect(bad.stdout).toContain('/v1/traces answers 401')
      expect(bad.stdout + bad.stderr).not.toContain(SECRET.toUpperCase())
    })

    it('ends with 1 when a collector acknowledges and does not keep', async () => {
      const liar = createServer((request, response) => {
        request.resume()
        response.end('{}')
      }).listen(0, '127.0.0.1')
      await once(liar, 'listening')
      const url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
      const { code, stdout } = await runMain(['verify', '--url', url], withSecret)
      expect(code).toBe(1)
      expect(stdout).toMatch(/✗ read .*What was read is not what was sent/)
      liar.close()
    })

    it('ends with 3 when nothing answers, or the command line is wrong', async () => {
      const url = `http://127.0.0.1:${await freePort()}`
      const cases: [string[], Record<string, string>, RegExp][] = [
        [['--url', url], withSecret, /cannot be reached: .*ECONNREFUSED/],
        [['--url', 'collector:8080'], withSecret, /--url must be an absolute http/],
        [[], withSecret, /--url is required/],
        [['--url', url], {}, /COLLECTOR_JWT_SECRET is not set/],
        [['--url', url], { COLLECTOR_JWT_SECRET: 'short-one' }, /has 9 characters/],
        [['--url', url, '--nonsense'], withSecret, /Unknown option '--nonsense'[^]*Usage/],
      ]
      const ended = await Promise.all(
        few(cases, 2).map(([args, env]) => runMain(['verify', ...args], env)),
      )
      for (const [index, { code, stderr }] of ended.entries()) {
        expect(stderr).toMatch(cases[index]?.[2] ?? /never/)
        expect(code).toBe(3)
        expect(stderr).not.toContain('short-one')
      }
    })
  })

  describe('token', () => {
    it('prints a token that the collector takes, and beside it the id', async () => {
      const args = ['token', '--days', '2', '--org', 'Example', '--scope', 'traces:write']
      const { code, stdout, stderr } = await runMain(args, withSecret)
      expect(code).toBe(0)
      const token = stdout.trimEnd()
      const twoDays = Date.now() / 1000 + 2 * 86_400
      const { expiresAt: expiry, ...claims } = await verifyCollectorToken(token, SECRET)
      expect(Math.abs(expiry - twoDays)).toBeLessThan(60)
      expect(claims).toMatchObject({ organization: 'Example', scopes: new Set(['traces:write']) })
      expect(stderr).toBe(`id: ${claims.id}\n`)
      const answer = await postTo(harness.collector.url, toJson(requestOf(spanOf())).toString(), {
        'content-type': JSON_TYPE,
        authorization: `Bearer ${token}`,
      })
      expect(answer.status).toBe(200)
    })

    it('refuses a time that it does not understand, or that is too long', async () => {
      const times = few(['soon', '0s', '367d'], 1)
      const ended = await Promise.all(
        times.map((ttl) => runMain(['token', '--ttl', ttl], withSecret)),
      )
      for (const { code, stdout, stderr } of ended) {
        expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
        expect(stderr).toContain('--ttl must be a time such as 90s, 15m, 12h or 30d')
      }
    })
  })

  describe('token revoke', () => {
    it('ends a token by its id, once, and lists what was revoked', async () => {
      const { stdout, stderr } = await runMain(['token'], withSecret)
      const id = stderr.trim().replace('id: ', '')
      const env = { DATABASE_URL: harness.databaseUrl }
      const args = ['token', 'revoke', id, '--reason', 'leaked']
      expect((await runMain(args, env)).stdout).toMatch(/^Revoked .*within a minute\.$/m)
      expect((await runMain(args, env)).stdout).toContain('was revoked before')
      const listed = await runMain(['token', 'revoked'], env)
      expect(listed.stdout).toMatch(new RegExp(`Z  ${id}  "leaked"\n$`))
      const authorization = `Bearer ${stdout.trimEnd()}`
      await expect
        .poll(async () => (await postTo(harness.collector.url, '', { authorization })).status)
        .toBe(401)
    })

    it('says what is missing', async () => {
      const url = { DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none` }
      const cases: [string[], Record<string, string>, RegExp][] = [
        [['revoke'], url, /revoke needs the id of a token/],
        [['revoke', 'x'], {}, /DATABASE_URL/],
        [['revoked'], url, /"none" at 127\.0\.0\.1:\d+ cannot be reached/],
        [['--org', ''], withSecret, /--org must have 1 to 64 characters/],
        [['--scope', 'write'], withSecret, /--scope must be traces:write or traces:read/],
        [['--days', '367'], withSecret, /--days must be 1 to 366 at the most/],
      ]
      const ended = await Promise.all(cases.map(([args, env]) => runMain(['token', ...args], env)))
      for (const [index, { code, stderr }] of ended.entries()) {
        expect(stderr).toMatch(cases[index]?.[2] ?? /never/)
        expect(code).toBe(3)
      }
    })
  })

  it('explain themselves', async () => {
    const [all, verify, token, unknown] = await Promise.all([
      runMain(['--help']),
      runMain(['verify', '--help']),
      runMain(['token', '-h']),
      runMain(['vreify']),
    ])
    expect(all).toMatchObject({ code: 0, stdout: expect.stringContaining('migrate') })
    expect(verify).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit code 0') })
    expect(token).toMatchObject({ code: 0, stdout: expect.stringContaining('--ttl') })
    expect(unknown.code).toBe(3)
    expect(unknown.stderr).toMatch(/There is no command "vreify"[^]*Usage/)
  })
})
