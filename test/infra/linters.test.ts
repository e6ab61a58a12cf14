import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { EXCEPTIONS } from './support/lint-exceptions.ts'
import * as overrides from './support/overrides.ts'
import { manifests } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { runTool } from './support/tools.ts'

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

const isFound = ({ command }: Linter): boolean => runTool(command, ['version']).status === 0
const found = LINTERS.filter(isFound)

if (found.length < LINTERS.length) {
  console.log('No kube-linter or no kube-score: .ci/install-tools builds them where there is Go.')
}

const directory = mkdtempSync(join(tmpdir(), 'linters-'))

function findingsIn({ command, args, findings }: Linter, values: ValuesOverrides) {
  const file = join(directory, 'manifests.yaml')
  writeFileSync(
    file,
    manifests(values)
      .map((object) => JSON.stringify(object))
      .join('\n---\n'),
  )
  return findings(JSON.parse(runTool(command, [...args, file]).stdout))
}

describe.each(found)('$command', { timeout: 180_000 }, (linter) => {
  const exceptions = EXCEPTIONS[linter.command] ?? {}

  it.each(Object.entries({ defaults: {}, ...overrides }))(
    'finds nothing in the manifests of the %s values but the documented exceptions',
    (_, values) => {
      const unexpected = findingsIn(linter, values).filter(
        ({ check, object }) => !exceptions[check]?.test(object),
      )
      expect(unexpected).toEqual([])
    },
  )

  it('needs each of the exceptions', () => {
    const checks = findingsIn(linter, overrides.production).map(({ check }) => check)
    expect([...new Set(checks)].toSorted()).toEqual(Object.keys(exceptions).toSorted())
  })
})

describe.skipIf(found.length === 0)('kube-linter or kube-score', () => {
  it('is there', () => expect(found).not.toEqual([]))
})
