import { parseCrewEvent } from '../../../../services/platform/crew-contract/crew-event.ts'
import { describe, expect, it } from 'vitest'
import { excerpt } from '../../../../services/platform/crew-contract/event-text.ts'

const at = '2026-11-21T10:00:00.000Z'

describe('the protocol between workers and crews', () => {
  it('reads an event, and drops fields that it does not know', () => {
    const line = JSON.stringify({ type: 'crew_started', at, crew: 'Research', more: 1 })
    expect(parseCrewEvent(line)).toEqual({ type: 'crew_started', at, crew: 'Research' })
  })

  it('keeps kinds of events that it does not know, as far as they can be stored', () => {
    const event = { type: 'tool_called', seq: 3, of: { text: 'a\u0000b\ud800' } }
    expect(parseCrewEvent(JSON.stringify(event))).toEqual({
      type: 'other',
      seq: 3,
      event: { type: 'tool_called', seq: 3, of: { text: 'a\ufffdb\ufffd' } },
    })
    const long = parseCrewEvent(JSON.stringify({ type: 'page', at, text: 'x'.repeat(70_000) }))
    expect(long).toMatchObject({ event: { type: 'page', at, left_out_characters: 70_057 } })
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
