import { parseCrewEvent } from '../../services/platform/crew-contract/crew-event.ts'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { bundledScript } from '../support/npm.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const text = readFileSync(join(root, 'docs/crew-contract.schema.json'), 'utf8')

describe('the JSON Schema of the crew contract', () => {
  it('is what `npm run schemas` writes', () => {
    const directory = mkdtempSync(join(tmpdir(), 'crew-schema-'))
    execFileSync('sh', ['-c', `${bundledScript('schemas')} ${directory}`], { cwd: root })
    const written = readFileSync(join(directory, 'crew-contract.schema.json'), 'utf8')
    rmSync(directory, { recursive: true })
    expect(text === written, 'it is stale: run `npm run schemas` and commit it').toBe(true)
  })

  const at = '2026-11-22T12:00:00Z'
  const usage = { input_tokens: 1, output_tokens: 2 }
  const start = { type: 'step_started', at, step: 'a', kind: 'tool', name: 'x', path: ['x'] }
  const isValid = new Ajv({ strict: false, formats: { 'date-time': true, uuid: true } }).compile(
    JSON.parse(text),
  )

  it.each<[string, object]>([
    ['a start', { type: 'crew_started', at, seq: 1, crew: 'x' }],
    ['a start without its crew', { type: 'crew_started', at }],
    ['an end', { type: 'crew_completed', at, output: 'x', usage }],
    [
      'half a token',
      { type: 'crew_completed', at, output: 'x', usage: { ...usage, input_tokens: 0.5 } },
    ],
    ['a step', start],
    ['a step of a kind of its own', { ...start, kind: 'nap' }],
    ['a step with a key of spaces', { ...start, step: 'a b' }],
    ['a step with 21 keys', { ...start, path: Array.from({ length: 21 }, () => 'x') }],
    ['a finished step', { type: 'step_finished', at, step: 'a', result: null }],
    ['a failed step without its error', { type: 'step_failed', at, step: 'a' }],
    ['an event of another type', { type: 'mood', feeling: 'good' }],
    ['no type', { at }],
    ['a type that is a number', { type: 7 }],
    ['a seq below 0', { type: 'heartbeat', at, seq: -1 }],
  ])('says of %s what the platform says', (_, event) => {
    const isTaken = (): boolean => {
      try {
        parseCrewEvent(JSON.stringify(event))
        return true
      } catch {
        return false
      }
    }
    expect(isValid(event)).toBe(isTaken())
  })
})
