import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contextOf, platformManifests } from '../../infra/render.ts'
import { startApiServer } from './support/api-server.ts'
import type { ApiServer } from './support/api-server.ts'

const run = promisify(execFile)
const KUBECTL = 'kubectl'
const hasKubectl = spawnSync(KUBECTL, ['version', '--client']).status === 0

if (!hasKubectl) console.log('No kubectl on the PATH: `kubectl apply -f dist` is not tried.')

describe.skipIf(!hasKubectl)('kubectl apply -f dist', { timeout: 180_000 }, () => {
  const objects = platformManifests(contextOf([], { name: 'platform', namespace: 'platform' }))
  const cache = mkdtempSync(join(tmpdir(), 'kubectl-'))
  let server: ApiServer | undefined
  beforeAll(async () => {
    server = await startApiServer(objects)
  })
  afterAll(() => server?.stop())

  async function apply(): Promise<{ lines: readonly string[]; writes: readonly string[] }> {
    const { url, writes } = server ?? { url: '', writes: [] }
    const before = writes.length
    const target = ['--server', url, '--kubeconfig', '/dev/null', '--cache-dir', cache]
    const { stdout } = await run(KUBECTL, ['apply', '-f', 'dist', '--validate=false', ...target])
    return { lines: stdout.trim().split('\n'), writes: writes.slice(before) }
  }

  it('creates every object once, each after what it needs', async () => {
    const { writes } = await apply()
    const names = objects.map(
      ({ kind, metadata }) => `POST ${String(kind)} ${(metadata as { name: string }).name}`,
    )
    expect(writes).toEqual(names)
    const at = (kind: string, name: string): number =>
      writes.findIndex((write) => write.startsWith(`POST ${kind} platform-${name}`))
    expect(at('NetworkPolicy', 'default-deny')).toBe(0)
    expect(at('Secret', 'secrets')).toBeLessThan(at('Job', 'bootstrap'))
    expect(at('Role', 'bootstrap')).toBeLessThan(at('Job', 'bootstrap'))
    expect(at('StatefulSet', 'postgres')).toBeLessThan(at('Deployment', 'collector'))
    for (const name of ['web', 'worker', 'oauth', 'collector', 'buildkit']) {
      expect(at('ServiceAccount', name)).toBeLessThan(at('Deployment', name))
    }
    expect(at('Deployment', 'worker')).toBeLessThan(at('Job', 'setup'))
  })

  it('changes nothing the second time', async () => {
    const { lines, writes } = await apply()
    expect(writes).toEqual([])
    expect(lines).toHaveLength(objects.length)
    for (const line of lines) expect(line).toMatch(/ unchanged$/)
  })
})
