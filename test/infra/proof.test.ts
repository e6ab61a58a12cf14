import { describe, expect, it } from 'vitest'
import { contextOf, platformFiles } from '../../infra/render.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { chartStream, containersOf, manifests, podsOf, RELEASE, tree } from './support/platform.ts'
import { expectSameObjects } from './support/same-objects.ts'

const proofKey = `302a300506032b6570032100${'0f'.repeat(32)}`
const given: ValuesOverrides = {
  upgrade: { requireProof: true, proofKey, proofDays: 3 },
  configuration: { existingConfigMap: 'settings' },
}
const PROGRAMS = /build\/(tasks|collector)\/main\.js/
const ONCE = new Set(['secrets:bootstrap', 'secrets:follow', 'backup:create'])

/** The containers that may bring a database to another schema. */
const migrating = (overrides: ValuesOverrides) =>
  podsOf(manifests(overrides))
    .flatMap(({ pod }) => containersOf(pod))
    .filter(({ command = [], args = [] }) => {
      const words: readonly string[] = [...command, ...args]
      return words.some((word) => PROGRAMS.test(word)) && !words.some((word) => ONCE.has(word))
    })

describe('upgrade.requireProof', () => {
  it('is asked of every container that migrates, and of no other by default', () => {
    const containers = migrating(given)
    const names: readonly string[] = containers.map(({ name }) => name)
    expect(names.toSorted()).toEqual([
      'assistant',
      'collector',
      'configuration',
      'migrate',
      'migrate',
      'migrate',
      'migrate',
      'runner',
      'setup',
    ])
    for (const { name, env } of containers) {
      expect(env, name).toContainEqual({ name: 'UPGRADE_PROOF_KEY', value: proofKey })
      expect(env, name).toContainEqual({ name: 'UPGRADE_PROOF_DAYS', value: '3' })
    }
    expect(JSON.stringify(manifests({ upgrade: { proofKey } }))).not.toContain('UPGRADE_PROOF')
  })

  it('is the same in the chart', () => {
    const context = contextOf([given], RELEASE)
    const files = platformFiles(contextOf([given], RELEASE), tree)
    expectSameObjects(chartStream(context), [...files.values()].join('---\n'))
  })

  it.each([
    [{ requireProof: true }, 'upgrade.proofKey is required while upgrade.requireProof is true'],
    [{ proofKey: 'ab' }, '88 hexadecimal digits of `upgrade:prove --print-key`'],
    [{ proofDays: 0 }, 'upgrade.proofDays'],
  ])('refuses %j', (upgrade, message) => {
    expect(() => contextOf([{ upgrade }], RELEASE)).toThrow(message)
  })
})
