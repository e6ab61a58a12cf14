import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

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
})
