import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dateRelease } from '../../scripts/release/changelog.ts'
import { createScratchRepository, runIn, runScript } from './scratch-repository.ts'
import { isLong } from '../support/long.ts'

let directory: string

beforeAll(() => {
  directory = createScratchRepository(['.', ':!docs', ':!test'])
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const git = (...args: readonly string[]): string => runIn(directory, 'git', args).trimEnd()
const release = (...args: readonly string[]) => runScript(directory, 'release', args)
const read = (file: string): string => readFileSync(join(directory, file), 'utf8')

/** Changes a file and commits it. */
function change(file: string, edit: (text: string) => string): void {
  writeFileSync(join(directory, file), edit(read(file)))
  git('commit', '--all', '--quiet', '-m', `Change ${file}`)
}

const unreleased = (text: string): string => text.replace('## Unreleased\n', '$&\nSomething.\n')

describe('npm run release', () => {
  it('explains itself', () => {
    expect(release('--help')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: /) })
    expect(release('--major')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--major'),
    })
  })

  it('refuses a tree with uncommitted changes', () => {
    appendFileSync(join(directory, 'README.md'), 'x')
    const { code, stderr } = release('--platform', '2.0.0')
    expect([code, stderr]).toEqual([1, 'commit or stash your changes first:\n M README.md\n'])
    git('checkout', '--quiet', 'README.md')
  })

  it('refuses what is no version', () => {
    expect(release('--chart', 'v2')).toMatchObject({
      code: 1,
      stderr: '--chart v2: a version is three numbers with dots, such as 1.14.0\n',
    })
  })

  it('shows what it would do, and changes nothing', () => {
    change('CHANGELOG.md', unreleased)
    const before = git('rev-parse', 'HEAD')
    const { code, stdout } = release('--platform', '2.0.0', '--chart', '2.1.0', '--dry-run')
    expect(code).toBe(0)
    for (const file of ['package.json', 'CHANGELOG.md', 'Chart.yaml']) {
      expect(stdout).toContain(file)
    }
    expect([git('status', '--porcelain'), git('tag'), git('rev-parse', 'HEAD')]).toEqual([
      '',
      '',
      before,
    ])
  }, 180_000)

  it('sets the three versions, dates the changelog, renders, commits and tags', () => {
    const args = ['--platform', '2.0.0', '--chart', '2.1.0', '--collector', '2.2.0']
    expect(release(...args)).toMatchObject({ code: 0, stderr: '' })
    expect(git('status', '--porcelain')).toBe('')
    expect(git('describe', '--tags')).toBe('v2.0.0')
    expect(git('log', '-1', '--format=%B')).toBe(
      'Release 2.0.0\n\nThe image of the platform 2.0.0, chart 2.1.0, collector 2.2.0.',
    )
    expect(read('dist/chart/Chart.yaml')).toMatch(/appVersion: "2\.0\.0"[^]*\nversion: "2\.1\.0"/)
    expect(read('dist/05-collector.yaml')).toContain('image: crew-platform/collector:2.2.0')
    expect(JSON.parse(read('package-lock.json')).packages[''].version).toBe('2.0.0')
    expect(read('CHANGELOG.md')).toMatch(
      /\n## Unreleased\n\n## 2\.0\.0 \(\d{4}-\d\d-\d\d\)\n\nChart 2\.1\.0, collector 2\.2\.0\.\n\n/,
    )
    expect(runScript(directory, 'check-commits', ['HEAD~1..HEAD']).code).toBe(0)
  }, 180_000)

  it('refuses a version that has its tag already', () => {
    expect(release().stderr).toBe('v2.0.0 is released already: give --platform the next version\n')
  })

  it('refuses a release that the changelog says nothing about', () => {
    expect(release('--platform', '2.0.1', '--chart', '2.1.1').stderr).toBe(
      'CHANGELOG.md has nothing under "## Unreleased": say what this release changes\n',
    )
  })

  it.runIf(isLong)(
    'refuses the same chart version for another chart, and leaves the tree as it was',
    () => {
      change('CHANGELOG.md', unreleased)
      const { code, stderr } = release('--platform', '2.0.1')
      expect([code, stderr]).toEqual([
        1,
        'dist/chart has changed since v2.0.0: give the chart a version after 2.1.0\n',
      ])
      expect([git('status', '--porcelain'), git('tag')]).toEqual(['', 'v2.0.0'])
    },
    180_000,
  )

  it.runIf(isLong)(
    'refuses the same collector version for another collector',
    () => {
      change('services/collector/main.ts', (text) => `${text}// changed\n`)
      expect(release('--platform', '2.0.1', '--chart', '2.1.1').stderr).toBe(
        'services/collector or services/shared has changed since v2.0.0: ' +
          'give the collector a version after 2.2.0\n',
      )
    },
    180_000,
  )

  it.runIf(isLong)(
    'releases again under new versions',
    () => {
      const args = ['--platform', '2.0.1', '--chart', '2.1.1', '--collector', '2.2.1']
      expect(release(...args)).toMatchObject({ code: 0, stderr: '' })
      expect(git('tag')).toBe('v2.0.0\nv2.0.1')
    },
    180_000,
  )
})

describe('the section "Unreleased" of the changelog', () => {
  const versions = { platform: '1.0.0', chart: '2.0.0', collector: '3.0.0' }

  it('becomes that of the release, below a new one', () => {
    const changelog = '# Changelog\n\n## Unreleased\n\n- A\n\n## 0.9.0 (2026-01-01)\n\n- B\n'
    expect(dateRelease(changelog, versions, '2026-02-03')).toBe(
      '# Changelog\n\n## Unreleased\n\n## 1.0.0 (2026-02-03)\n\nChart 2.0.0, collector 3.0.0.\n' +
        '\n- A\n\n## 0.9.0 (2026-01-01)\n\n- B\n',
    )
  })

  it('gives way to a section that has the version already, which gets the date', () => {
    const changelog = '# Changelog\n\n## Unreleased\n\n## 1.0.0\n\n- A\n'
    expect(dateRelease(changelog, versions, '2026-02-03')).toBe(
      '# Changelog\n\n## Unreleased\n\n## 1.0.0 (2026-02-03)\n\nChart 2.0.0, collector 3.0.0.\n' +
        '\n- A\n',
    )
    const both = changelog.replace('## Unreleased\n', '$&\n- B\n')
    expect(() => dateRelease(both, versions, '2026-02-03')).toThrow('"## 1.0.0" already')
  })

  it('must exist, once', () => {
    for (const changelog of ['# Changelog\n', '\n## Unreleased\n\n- A\n\n## Unreleased\n\n- B\n']) {
      expect(() => dateRelease(changelog, versions, '2026-02-03')).toThrow('one section')
    }
  })
})
