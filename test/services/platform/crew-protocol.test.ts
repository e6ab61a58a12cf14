import { describe, expect, it } from 'vitest'
import { excerpt, parseCrewEvent } from '../../../services/platform/crew-protocol.ts'

const at = '2026-11-21T10:00:00.000Z'

describe('the protocol between workers and crews', () => {
  it('reads an event, and drops fields that it does not know', () => {
    const line = JSON.stringify({ type: 'crew_started', at, crew: 'Research', more: 1 })
    expect(parseCrewEvent(line)).toEqual({ type: 'crew_started', at, crew: 'Research' })
  })

  it('ignores kinds of events that it does not know', () => {
    expect(parseCrewEvent('{"type":"tool_called"}')).toBeUndefined()
  })

  it.each(['', 'Traceback', '[]', '{}', '{"type":7}', '{"type":"failed","at":"now"}'])(
    'refuses %j',
    (line) => {
      expect(() => parseCrewEvent(line)).toThrow()
    },
  )

  it('replaces what PostgreSQL cannot store, and leaves pairs of surrogates alone', () => {
    const error = { code: 'x', message: 'NUL \u0000, half \ud83d, whole 🐋' }
    expect(parseCrewEvent(JSON.stringify({ type: 'failed', at, error }))).toMatchObject({
      error: { message: 'NUL \ufffd, half \ufffd, whole 🐋' },
    })
  })

  it('cuts long messages and says so', () => {
    expect(excerpt('short')).toBe('short')
    expect(excerpt('x'.repeat(70_000))).toMatch(/^x+ … \(4464 more characters were left out\)$/)
  })
})
