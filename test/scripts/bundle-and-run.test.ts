import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, ['scripts/bundle-and-run.cjs', program, ...args], {
    encoding: 'utf8',
  })

describe('a program that runs from its bundle', () => {
  it('has its texts and its imports, when it is bundled and from what V8 kept', () => {
    const program = 'test/scripts/programs/say-texts.ts'
    const texts = 'plain … – ä 日本 🙂\ntagged … – ä 日本 🙂\n'
    expect(run(program)).toBe(`${texts}imported\n`)
    expect(run(program, '--last ü')).toBe(`${texts}--last ü\nimported\n`)
  })

  it('renders the chart as its modules do, though it has less of cdk8s', () => {
    expect(run('infra/main.ts', '--check')).toBe('dist is up to date\n')
  })
})
