import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundledScript } from '../../support/npm.ts'
import { isLong } from '../../support/long.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const committed = join(root, 'services/collector/otlp')

const assemble = (argument: string): void => {
  const options = { cwd: root, stdio: 'pipe' } as const
  execFileSync('sh', ['-c', `${bundledScript('assemble')} ${argument}`], options)
}

it('the modules of the collector are from their sources', () => assemble('--check'), 180_000)

/** With `npm run test:long` the modules are compiled; else their digests are read. */
describe.runIf(isLong)('what `npm run assemble` writes', () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'assembled-'))
    assemble(directory)
  }, 180_000)
  afterAll(() => rmSync(directory, { recursive: true }))

  it.each(['assembly/constants.ts', 'wasm.ts', 'json-wasm.ts'])('is committed as %s', (file) => {
    const [built, found] = [directory, committed].map((folder) =>
      readFileSync(join(folder, file), 'utf8'),
    )
    expect(found === built, `${file} is stale: run \`npm run assemble\` and commit it`).toBe(true)
  })
})
