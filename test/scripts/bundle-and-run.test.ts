import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

const run = (...args: readonly string[]): string =>
  execFileSync(
    process.execPath,
    ['scripts/bundle-and-run.cjs', 'test/scripts/programs/say-texts.ts', ...args],
    { encoding: 'utf8' },
  )

describe('a program that runs from its bundle', () => {
  it('has its texts and its imports, when it is bundled and from what V8 kept', () => {
    const texts = 'plain … – ä 日本 🙂\ntagged … – ä 日本 🙂\n'
    expect(run()).toBe(`${texts}imported\n`)
    expect(run('--last ü')).toBe(`${texts}--last ü\nimported\n`)
  })
})
