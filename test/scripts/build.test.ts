import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { programPath } from '../support/program.ts'

/** Megabytes that each pod pulls and each process reads. */
const MOST_MB = { web: 3.1, worker: 1.3, collector: 1.1 }

const mapOf = (service: string): { sources: string[]; sourcesContent?: string[] } =>
  JSON.parse(readFileSync(`${programPath(service)}.map`, 'utf8'))

describe('the bundles of the images', () => {
  it.each(Object.entries(MOST_MB))('%s has at most %d MB', (service, most) => {
    expect(statSync(programPath(service)).size / 1e6).toBeLessThanOrEqual(most)
  })

  it('have nothing of the parts of an SDK that nothing uses', () => {
    const parts = mapOf('web').sources.filter((source) => /sdk-metrics|sdk-logs/.test(source))
    expect(parts).toEqual([])
  })

  it('say functions and lines of the sources in the stack of an error', () => {
    const broken = "String.prototype.padEnd = () => { throw new TypeError('broken') }"
    const imported = `data:text/javascript,${encodeURIComponent(broken)}`
    const args = ['--enable-source-maps', '--import', imported, programPath('tasks'), '--help']
    const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(stderr).toMatch(
      /TypeError: broken\n(.*\n)*? +at usage \(.*services\/tasks\/start\.ts:\d+:\d+\)/,
    )
    // The maps have no sources: those are public, and as large as the bundles.
    expect(mapOf('tasks').sourcesContent).toBeUndefined()
  })
})
