import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { manifests } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const s3 = { bucket: 'backups', endpoint: 'https://s3.example.com', credentialsSecret: 'bucket' }
const backup = { enabled: true, passphraseSecret: 'passphrase' }

const cronJobs = (given: ValuesOverrides): readonly Manifest[] =>
  manifests(given).filter(
    ({ kind, metadata }) =>
      kind === 'CronJob' && metadata.labels['app.kubernetes.io/component'] === 'backup',
  )
const containerOf = ({ spec }: Manifest): Manifest =>
  spec.jobTemplate.spec.template.spec.containers[0]

describe('the jobs of backups', () => {
  it('write the heads of receipts into a bucket each hour, and into no volume', () => {
    expect(cronJobs({ backup }).map(({ metadata }) => metadata.name)).toEqual(['demo-backup'])
    const [first, heads] = cronJobs({ backup: { ...backup, s3 } })
    expect(heads).toMatchObject({
      metadata: { name: 'demo-receipts' },
      spec: { schedule: '47 * * * *', concurrencyPolicy: 'Forbid' },
    })
    expect(first && containerOf(first).args).toEqual(['backup:create'])
    expect(heads && containerOf(heads).args).toEqual(['receipts:copy'])
    expect(heads && containerOf(heads).env).toEqual(first && containerOf(first).env)
  })
})
