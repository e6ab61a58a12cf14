import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScratchRepository, runIn, runScript } from './scratch-repository.ts'

let directory: string

beforeAll(() => {
  directory = createScratchRepository(['scripts', 'package.json', '.gitignore'])
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** What the script says about a commit with this message. */
function problemsOf(message: string): string {
  runIn(directory, 'git', ['commit', '--quiet', '--allow-empty', '-m', message])
  return runScript(directory, 'check-commits', ['HEAD~1..HEAD']).stderr
}

describe('npm run check:commits', () => {
  it.each([
    ['accepts a short subject and a body', `${'s'.repeat(72)}\n\nWhy.\n\nMore.`, undefined],
    ['refuses a long subject', `${'s'.repeat(73)}\n\nWhy.`, 'the subject has 73 characters'],
    ['refuses a subject with a full stop', 'Subject.\n\nWhy.', 'ends with a full stop'],
    ['refuses a body without its empty line', 'Subject\nWhy.', 'the second line is not empty'],
    ['refuses a missing body', 'Subject', 'there is no body'],
    ['refuses a long line', `Subject\n\n${'b'.repeat(101)}`, 'more than 100 characters'],
  ])('%s', (_, message, problem) => {
    if (problem === undefined) expect(problemsOf(message)).toBe('')
    else expect(problemsOf(message)).toContain(problem)
  })

  it('exempts merges', () => {
    runIn(directory, 'git', ['switch', '--quiet', '--create', 'side'])
    runIn(directory, 'git', ['commit', '--quiet', '--allow-empty', '-m', 'Change\n\nWhy.'])
    runIn(directory, 'git', ['switch', '--quiet', '-'])
    runIn(directory, 'git', ['merge', '--quiet', '--no-ff', '-m', 'Merge', 'side'])
    expect(runScript(directory, 'check-commits', ['HEAD~1..HEAD']).code).toBe(0)
  })
})
