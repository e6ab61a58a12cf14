import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXCEPTIONS } from './support/lint-exceptions.ts'
import * as overrides from './support/overrides.ts'
import { manifests } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

interface Finding {
  readonly check: string
  readonly object: string
}

interface Linter {
  readonly command: string
  readonly args: readonly string[]
  readonly findings: (report: Manifest) => readonly Finding[]
}

const CRITICAL = 1

const LINTERS: readonly Linter[] = [
  {
    command: 'kube-linter',
    args: ['lint', '--format', 'json'],
    findings: ({ Reports }) =>
      (Reports ?? []).map(({ Check, Object: { K8sObject } }: Manifest) => ({
        check: Check,
        object: `${K8sObject.GroupVersionKind.Kind} ${K8sObject.Name}`,
      })),
  },
  {
    command: 'kube-score',
    args: ['score', '--output-format', 'json'],
    findings: (objects) =>
      objects.flatMap(({ object_name: object, checks }: Manifest) =>
        checks
          .filter(({ skipped, grade }: Manifest) => !skipped && grade <= CRITICAL)
          .map(({ check }: Manifest) => ({ check: check.id, object })),
      ),
  },
]

const isFound = ({ command }: Linter): boolean =>
  spawnSync(command, ['version'], { stdio: 'ignore' }).status === 0

for (const linter of LINTERS.filter((one) => !isFound(one))) {
  console.log(
    `No ${linter.command} on the PATH: the chart is held to our own copy of its rules only.`,
  )
}

const directory = mkdtempSync(join(tmpdir(), 'linters-'))

function findingsOf({ command, args, findings }: Linter, objects: readonly Manifest[]) {
  const file = join(directory, 'manifests.yaml')
  writeFileSync(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'))
  const { stdout } = spawnSync(command, [...args, file], { encoding: 'utf8', maxBuffer: 1 << 26 })
  return findings(JSON.parse(stdout))
}

describe.each(LINTERS.filter(isFound))('a real $command', { timeout: 60_000 }, (linter) => {
  it.each(Object.entries({ defaults: {}, ...overrides }))(
    'finds nothing in the manifests of the %s values but the documented exceptions',
    (_, values) => {
      const unexpected = findingsOf(linter, manifests(values)).filter(
        ({ check, object }) => !EXCEPTIONS[check]?.test(object),
      )
      expect(unexpected).toEqual([])
    },
  )
})

describe.skipIf(!LINTERS.some(isFound))('kube-linter or kube-score', () => {
  it('is there', () => expect(LINTERS.filter(isFound)).not.toEqual([]))
})
