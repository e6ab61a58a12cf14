import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundledScript } from '../support/npm.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

it('the JSON Schema of the report is what `npm run schemas` writes', () => {
  const directory = mkdtempSync(join(tmpdir(), 'doctor-schema-'))
  execFileSync('sh', ['-c', `${bundledScript('schemas')} ${directory}`], { cwd: root })
  const [text, written] = [join(root, 'docs'), directory].map((folder) =>
    readFileSync(join(folder, 'doctor-report.schema.json'), 'utf8'),
  )
  rmSync(directory, { recursive: true })
  expect(text === written, 'it is stale: run `npm run schemas` and commit it').toBe(true)
})
