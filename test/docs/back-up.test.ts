import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contextOf } from '../../infra/render.ts'
import {
  chartObjects,
  containersOf,
  find,
  manifests,
  podsOf,
  RELEASE,
} from '../infra/support/platform.ts'
import type { Manifest } from '../infra/support/platform.ts'
import { blocksOf } from './documents.ts'

const blocks: readonly Manifest[] = blocksOf('docs/back-up.md')
  .filter(({ language }) => language === 'yaml')
  .map(({ code }) => parse(code))

const named = (name: string): Manifest => blocks.find(({ metadata }) => metadata?.name === name)

describe('the values of the manual', () => {
  const [toVolume, toBucket] = blocks.filter(({ backup }) => backup)

  it.each([
    ['a volume', toVolume, 'BACKUP_DIRECTORY'],
    ['a bucket', toBucket, 'BACKUP_S3_BUCKET'],
  ])('make a CronJob that writes to %s, in both readings of the chart', (_, values, variable) => {
    const job = find(manifests(values), 'CronJob', 'backup')
    expect(find(chartObjects(contextOf([values], RELEASE)), 'CronJob', 'backup').spec).toEqual(
      job.spec,
    )
    const [container] = job.spec.jobTemplate.spec.template.spec.containers
    expect(container.args).toEqual(['backup:create'])
    const names = container.env.map(({ name }: Manifest) => name)
    expect(names.filter((name: string) => /DIRECTORY|BUCKET/.test(name))).toEqual([variable])
    expect(names).toContain('COLLECTOR_DB_HOST')
  })

  it('have the database that CloudNativePG makes, with its user and its Service', () => {
    const values = blocks.find(({ postgres }) => postgres)
    const { metadata, spec } = named('platform-db')
    const { initdb } = spec.bootstrap
    expect(values.envVars).toMatchObject({
      DB_HOST: `${metadata.name}-rw`,
      DB_NAME: initdb.database,
      DB_USER: initdb.owner,
    })
    const environment = podsOf(manifests(values))
      .flatMap(({ pod }) => containersOf(pod).flatMap(({ env = [] }) => env))
      .filter(({ name }: Manifest) => name === 'DB_NAME')
      .map(({ value }: Manifest) => value)
    const made = [initdb.database, /database (\w+)/.exec(initdb.postInitSQL[0])?.[1]]
    expect(new Set(environment)).toEqual(new Set(made))
  })

  it('archive to one place, and recover from there', () => {
    const archive = named('platform-archive')
    const [plugin] = named('platform-db').spec.plugins
    const recovered = named('platform-db-recovered').spec
    const [cluster] = recovered.externalClusters
    expect(plugin.parameters.barmanObjectName).toBe(archive.metadata.name)
    expect(cluster.plugin.parameters.barmanObjectName).toBe(archive.metadata.name)
    expect(recovered.bootstrap.recovery.source).toBe(cluster.name)
    expect(Number.isNaN(Date.parse(recovered.bootstrap.recovery.recoveryTarget.targetTime))).toBe(
      false,
    )
    expect(named('platform-db-nightly').spec.cluster.name).toBe('platform-db')
  })
})
