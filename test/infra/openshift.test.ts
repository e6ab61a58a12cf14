import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { chartObjects, chartTestPod, containersOf, podsOf, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { restrictedViolations } from './support/pod-security.ts'

const DATABASES = [
  {},
  {
    postgres: { enabled: false },
    dbProxy: { enabled: true, instanceConnectionName: 'project:region:instance' },
    secrets: { existingSecret: 'mine' },
  },
]
const IDS = ['runAsUser', 'runAsGroup', 'fsGroup', 'supplementalGroups']

/** Every pod of the chart, that of `helm test` among them. */
function pods(overrides: object): readonly { owner: string; pod: Manifest }[] {
  const context = contextOf([{ buildkit: { enabled: false } }, overrides], RELEASE)
  return [...podsOf(chartObjects(context)), { owner: 'helm test', pod: chartTestPod(context) }]
}

const idsIn = ({ securityContext = {} }: Manifest): readonly string[] =>
  IDS.filter((id) => id in securityContext)

const idsOf = (pod: Manifest): readonly string[] => [pod.spec, ...containersOf(pod)].flatMap(idsIn)

describe('global.openshift', () => {
  it.each(DATABASES)('leaves users and groups to the cluster in every pod, with %j', (database) => {
    for (const { owner, pod } of pods({ global: { openshift: true }, ...database })) {
      expect({ owner, ids: idsOf(pod) }).toEqual({ owner, ids: [] })
      expect(restrictedViolations(owner, pod)).toEqual([])
    }
  })

  it.each(DATABASES)('is off by default: each pod names its own, with %j', (database) => {
    for (const { owner, pod } of pods(database)) {
      const ids = owner === 'helm test' ? ['runAsUser'] : ['runAsUser', 'runAsGroup', 'fsGroup']
      expect({ owner, ids: idsIn(pod.spec) }).toEqual({ owner, ids })
    }
  })

  it('reaches the crews through the Job that makes their pods', () => {
    const variableWith = (openshift: boolean): readonly string[] =>
      pods({ global: { openshift } })
        .filter(({ owner }) => owner.startsWith('Job demo-crews'))
        .flatMap(({ pod }) => pod.spec.containers)
        .map(({ env }) => env.find(({ name }: Manifest) => name === 'CREW_ARBITRARY_USER').value)
    expect(variableWith(true)).toEqual(['true', 'true'])
    expect(variableWith(false)).toEqual(['false', 'false'])
  })

  it('names the user to the programs of PostgreSQL: an assigned id has no name', () => {
    const asking = pods({ global: { openshift: true } })
      .flatMap(({ pod }) => containersOf(pod))
      .filter((container) => JSON.stringify(container).includes('pg_isready'))
    expect(asking.length).toBeGreaterThan(1)
    for (const container of asking) {
      const hasUser = (container.env ?? []).some(({ name }: Manifest) => name === 'PGUSER')
      const text = JSON.stringify(container)
      const asked = text.match(/pg_isready[^;]*/g) ?? []
      expect(asked.filter((each) => !hasUser && !each.includes('-U '))).toEqual([])
    }
  })

  it('is refused together with BuildKit, which needs a user of its own', () => {
    expect(() => contextOf([{ global: { openshift: true } }], RELEASE)).toThrow(
      'global.openshift needs buildkit.enabled: false',
    )
  })
})
