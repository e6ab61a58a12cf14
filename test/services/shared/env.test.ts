import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { flag, httpUrl, integer, optional, readEnv, text } from '../../../services/shared/env.ts'
import { oneOf } from '../../../services/shared/schemas.ts'
import { AppError } from '../../../services/shared/errors.ts'

const schema = v.object({
  PORT: v.optional(integer(1, 65_535), '8080'),
  MODE: oneOf(['a', 'b'] as const),
  URL: httpUrl(),
  ENABLED: v.optional(flag(), 'false'),
  JWT_SECRET: text(32),
  EXTRA: optional(text(3)),
  LINK: optional(httpUrl()),
})

const good = { MODE: 'a', URL: 'http://x:1/', JWT_SECRET: 's'.repeat(32) }

function failure(source: Record<string, string>): AppError {
  try {
    readEnv(schema, source)
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown
  }
  throw new Error('the environment was accepted')
}

describe('readEnv', () => {
  it('gives typed values, with defaults for what is not set', () => {
    expect(readEnv(schema, { ...good, PORT: '90', ENABLED: 'true' })).toEqual({
      PORT: 90,
      MODE: 'a',
      URL: 'http://x:1',
      ENABLED: true,
      JWT_SECRET: good.JWT_SECRET,
      EXTRA: undefined,
    })
  })

  it('takes an empty optional variable as not set', () => {
    expect(readEnv(schema, { ...good, EXTRA: '' }).EXTRA).toBeUndefined()
  })

  it('lists every mistake at once, with the variable, what was given and what is allowed', () => {
    const { code, message } = failure({ PORT: '70000', MODE: 'c', URL: 'ftp://x', LINK: 'x' })
    expect(code).toBe('invalid_configuration')
    expect(message).toContain('PORT must be between 1 and 65535 (given: "70000")')
    expect(message).toContain('MODE must be one of a, b (given: "c")')
    expect(message).toContain('URL must be an absolute http:// or https:// URL (given: "ftp://x")')
    expect(message).toContain('LINK must be an absolute http:// or https:// URL (given: "x")')
    expect(message).toContain('JWT_SECRET is required and not set')
  })

  it('never shows the value of a secret', () => {
    const { message } = failure({ ...good, JWT_SECRET: 'hunter2' })
    expect(message).toContain('JWT_SECRET must have at least 32 characters (given: 7 characters)')
    expect(message).not.toContain('hunter2')
  })
})
