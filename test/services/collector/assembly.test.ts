import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RESERVED_BYTES } from '../../../services/collector/otlp/accelerator.ts'

const root = new URL('../../../', import.meta.url)

describe('the WebAssembly of the transcoder', () => {
  it('is what its source compiles to; `npx vitest run assembly.test.ts -u` renews it', async () => {
    execFileSync('npm', ['run', '--silent', 'assemble'], { cwd: root })
    const built = readFileSync(new URL('node_modules/.cache/assembly.wasm', root))
    const text =
      '/** Compiled from `assembly/`, and renewed by its test: never edited. */\n' +
      `export const WASM =\n  '${built.toString('base64')}'\n`
    await expect(text).toMatchFileSnapshot(
      new URL('services/collector/otlp/wasm.ts', root).pathname,
    )
  })
  it('keeps to the memory that is reserved for it', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
    expect(scripts.assemble).toContain(`--lowMemoryLimit ${RESERVED_BYTES} `)
  })
})
