import { describe, expect, it } from 'vitest'
import { createRedactor } from './redact.ts'

const redact = createRedactor({ redact: ['cards', 'keys', 'emails', 'ibans'] })

const secret = (length: number): string =>
  'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z'.repeat(9).slice(0, length)
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.${secret(43)}`
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${secret(64)}\n-----END RSA PRIVATE KEY-----`

const FOUND: readonly (readonly [kind: string, text: string])[] = [
  ['card', '4111111111111111'],
  ['card', '4111 1111 1111 1111'],
  ['card', '4111-1111-1111-1111'],
  ['card', '4222222222222'],
  ['card', '5555555555554444'],
  ['card', '2223003122003222'],
  ['card', '378282246310005'],
  ['card', '3782 822463 10005'],
  ['card', '30569309025904'],
  ['card', '3056 930902 5904'],
  ['card', '6011111111111117'],
  ['card', '3530111333300000'],
  ['card', '6200000000000005'],
  ['key', `sk-${secret(48)}`],
  ['key', `sk-proj-${secret(40)}`],
  ['key', `sk-ant-api03-${secret(60)}`],
  ['key', `sk_live_${secret(24)}`],
  ['key', 'AKIAIOSFODNN7EXAMPLE'],
  ['key', 'ASIAIOSFODNN7EXAMPLE'],
  ['key', `ghp_${secret(36)}`],
  ['key', `ghs_${secret(36)}`],
  ['key', `github_pat_${secret(60)}`],
  ['key', `glpat-${secret(20)}`],
  ['key', `AIza${secret(35)}`],
  ['key', `hf_${secret(34)}`],
  ['key', `xoxb-123456789012-${secret(24)}`],
  ['key', `npm_${secret(36)}`],
  ['key', `SG.${secret(22)}.${secret(43)}`],
  ['key', JWT],
  ['key', `Bearer ${secret(20)}`],
  ['key', 'bearer s3cret-t0ken'],
  ['key', 'Basic dXNlcjpwYXNzd29yZDE='],
  ['key', PEM],
  ['key', PEM.replaceAll('\n', '\\n')],
  ['email', 'ann@example.com'],
  ['email', 'ann.lee+news@mail.example.co.uk'],
  ['email', 'müller@example.de'],
  ['email', 'ann@müller.example'],
  ['email', 'ann%40example.com'],
  ['email', 'ann\\u0040example.com'],
  ['iban', 'DE89370400440532013000'],
  ['iban', 'DE89 3704 0044 0532 0130 00'],
  ['iban', 'GB29 NWBK 6016 1331 9268 19'],
  ['iban', 'MT84MALT011000012345MTLCAST001S'],
  ['iban', 'NO9386011117947'],
]

const NOISE = Array.from({ length: 30_000 }, (_, i) => (i * i * 31) ^ (i >> 3))
const PICTURE = Buffer.from(NOISE).toString('base64')

const KEPT: readonly string[] = [
  'order 4111111111111112',
  'order 1234567890123456',
  '41111111111111110000',
  '0.4111111111111111',
  '4111111111111111.25',
  'a4111111111111111f',
  '1700000000000000000',
  '2026-11-22T06:19:22.123456789Z',
  '550e8400-e29b-41d4-a716-446655440000',
  '41111111-1111-4111-8111-111111111111',
  'c6417f4b24cdfcd80d65c0df8f442e6f5454af00',
  '+49 170 1234567890',
  'react@18.2.0',
  '@scope/package',
  'icon@2x.png',
  'a @ b.example',
  'ann@localhost',
  'task-1234567890abcdefghijklmnop',
  'sk-learn-is-a-library-without-digits',
  'Bearer authentication is required',
  'basic understanding of tokens',
  '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----',
  'eyJhbGciOiJIUzI1NiJ9 is half a token',
  'DE88370400440532013000',
  'XX89370400440532013000',
  'AKIA is a prefix',
  'ghp_tooshort',
  `data:image/png;base64,${PICTURE}`,
]

describe('redaction', () => {
  it.each(FOUND)('replaces a %s: %s', (kind, text) => {
    const mark = `[redacted:${kind}]`
    expect(redact(text)).toBe(mark)
    const places = [' ', ', ', '"', '=', ':', '/', '\\n', '\n', '%3D', '\\u003d', '(', '日本']
    for (const before of places) {
      expect(redact(`x${before}${text}" y`)).toBe(`x${before}${mark}" y`)
    }
    const escaped = JSON.stringify({ a: { b: text } })
    expect(redact(escaped)).toBe(escaped.replace(JSON.stringify(text).slice(1, -1), mark))
  })

  it.each(KEPT)('keeps %s', (text) => {
    expect(redact(text)).toBe(text)
    expect(redact(`x ${text} y`)).toBe(`x ${text} y`)
  })

  it('replaces every secret of a text, wherever it lies among blocks', () => {
    for (let gap = 0; gap < 40; gap++) {
      const filler = '.'.repeat(gap)
      const text = FOUND.map(([, one]) => `${filler} ${one} `).join('')
      const marked = FOUND.map(([kind]) => `${filler} [redacted:${kind}] `).join('')
      expect(redact(text)).toBe(marked)
    }
  })
})
