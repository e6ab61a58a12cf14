import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { it } from 'vitest'
import { bundledScript } from '../../support/npm.ts'

const cwd = fileURLToPath(new URL('../../../', import.meta.url))

/** By their digests; `assembly.long.test.ts` compiles them. */
it('the modules of the collector are from their sources', () => {
  execFileSync('sh', ['-c', `${bundledScript('assemble')} --check`], { cwd, stdio: 'pipe' })
}, 180_000)
