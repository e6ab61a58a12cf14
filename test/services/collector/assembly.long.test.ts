import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundledScript } from '../../support/npm.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const committed = join(root, 'services/collector')

describe('what `npm run assemble` writes', () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'assembled-'))
    const write = `${bundledScript('assemble')} ${directory}`
    execFileSync('sh', ['-c', write], { cwd: root, stdio: 'pipe' })
  }, 180_000)
  afterAll(() => rmSync(directory, { recursive: true }))

  it.each([
    'otlp/assembly/constants.ts',
    'otlp/wasm.ts',
    'otlp/json-wasm.ts',
    'store/search/signature-wasm.ts',
  ])('is committed as %s', (file) => {
    const [built, found] = [directory, committed].map((folder) =>
      readFileSync(join(folder, file), 'utf8'),
    )
    expect(found === built, `${file} is stale: run \`npm run assemble\` and commit it`).toBe(true)
  })
})
