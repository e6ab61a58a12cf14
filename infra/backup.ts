import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { BackupEnv } from '../services/tasks/env.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { create } from './kit/create.ts'
import { collectorDatabaseEnv, collectorPassword, databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, setWhen, unset } from './kit/env.ts'
import type { VariablesOf } from './kit/env.ts'
import { databasePodPullSecrets, platformImage, runs } from './kit/image.ts'
import { createCronJob } from './kit/job.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { proxyEnv } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount, podDefaults, podMetadata, scratch } from './kit/workload.ts'
import { all, digits, isSet, not, orElse } from './template/operators.ts'
import type { In } from './template/operators.ts'
import { onlyWhen, quantity, when, whenSet } from './template/structure.ts'
import { values } from './values.ts'

const { backup, collector, dbProxy, envVars, web } = values
const { s3, volume } = backup

const inBucket = isSet(s3.bucket)
const isVolume = not(inBucket)
const DIRECTORY = '/var/lib/backups'

/** Backs both databases up at certain times, into a volume or a bucket. */
export class Backup extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'backup')
    onlyWhen(all(isVolume, not(isSet(volume.existingClaim))), new Claim(this, 'volume'))
    const { deadlineSeconds, schedule } = backup
    createTimedTask(this, { name: 'backup', schedule, deadlineSeconds, ...creating })
    onlyWhen(inBucket, new HeadCopies(this, 'receipts'))
  }
}

/** Writes the signed heads of receipts into the bucket, each hour after they are signed. */
class HeadCopies extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const times = { schedule: '47 * * * *', deadlineSeconds: 1800 }
    createTimedTask(this, { name: 'receipts', ...times, ...copying })
  }
}

interface Timed {
  readonly name: string
  readonly schedule: In<string>
  readonly deadlineSeconds: In<number>
  readonly task: string
  readonly env: VariablesOf<BackupEnv>
  /** The volume of the backups, unless they are in a bucket. */
  readonly volume?: typeof backupVolume
}

/** A task of backups at certain times. */
function createTimedTask(scope: Construct, { name, schedule, deadlineSeconds, ...given }: Timed) {
  createCronJob(scope, 'backup', {
    name,
    schedule,
    deadlineSeconds,
    template: {
      metadata: podMetadata('backup', backup),
      // Names are looked up as by the other Jobs.
      spec: { ...podDefaults('backup', backup, web), restartPolicy: 'Never', ...pod(given) },
    },
  })
}

class Claim extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubePersistentVolumeClaim, {
      metadata: {
        name: nameOf('backup'),
        labels: labels('backup'),
        annotations: {
          'helm.sh/resource-policy': 'keep',
          'argocd.argoproj.io/sync-options': 'Prune=false',
        },
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: whenSet(volume.className),
        resources: { requests: { storage: quantity(volume.size) } },
      },
    })
  }
}

const tmp = scratch('/tmp')

const pod = ({ task, env: variables, volume: kept }: Pick<Timed, 'task' | 'env' | 'volume'>) => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: [...caVolumes(), tmp.volume, ...(kept ? [kept.source] : [])],
  containers: [
    {
      name: 'backup',
      ...runs(platformImage),
      command: ['node', 'build/tasks/main.js'],
      args: [task],
      env: env<BackupEnv>(variables),
      resources: resourcesOf(backup.resources),
      volumeMounts: [...caMounts(), tmp.mount, ...(kept ? [kept.mount] : [])],
      securityContext: containerSecurity(PLATFORM_USER),
    },
  ],
})

const { DB_HOST, DB_NAME, DB_PORT, DB_SSLMODE, DB_USER } = collectorDatabaseEnv

const keyOf = (name: typeof s3.credentialsSecret, key: string | typeof backup.passphraseKey) => ({
  valueFrom: { secretKeyRef: { name, key } },
})

const common = {
  LOG_LEVEL: envVars.LOG_LEVEL,
  ...proxyEnv(),
  ...databaseEnv('backup'),
  COLLECTOR_DATABASE_URL: unset,
  COLLECTOR_DB_HOST: setWhen(collector.enabled, DB_HOST),
  COLLECTOR_DB_PORT: setWhen(collector.enabled, DB_PORT),
  COLLECTOR_DB_NAME: setWhen(collector.enabled, DB_NAME),
  COLLECTOR_DB_USER: setWhen(collector.enabled, DB_USER),
  COLLECTOR_DB_PASSWORD: setWhen(
    all(collector.enabled, not(dbProxy.autoIamAuthn)),
    collectorPassword,
  ),
  COLLECTOR_DB_SSLMODE: setWhen(collector.enabled, DB_SSLMODE),
  BACKUP_PASSPHRASE: keyOf(backup.passphraseSecret, backup.passphraseKey),
  BACKUP_KEEP: digits(backup.keep),
  BACKUP_VERIFY: backup.verify,
  DATABASE_WAIT_SECONDS: unset,
}

const bucket = {
  BACKUP_S3_ENDPOINT: s3.endpoint,
  BACKUP_S3_BUCKET: s3.bucket,
  BACKUP_S3_REGION: s3.region,
  BACKUP_S3_ACCESS_KEY_ID: keyOf(s3.credentialsSecret, 'access-key-id'),
  BACKUP_S3_SECRET_ACCESS_KEY: keyOf(s3.credentialsSecret, 'secret-access-key'),
}
const BACKUP_S3_PREFIX = setWhen(isSet(s3.prefix), s3.prefix)

const backupVolume = {
  source: when<k8s.Volume>(isVolume, {
    name: 'backups',
    persistentVolumeClaim: { claimName: orElse(volume.existingClaim, nameOf('backup')) },
  }),
  mount: when<k8s.VolumeMount>(isVolume, { name: 'backups', mountPath: DIRECTORY }),
}

const creating = {
  task: 'backup:create',
  volume: backupVolume,
  env: {
    ...common,
    BACKUP_DIRECTORY: setWhen(isVolume, DIRECTORY),
    BACKUP_S3_ENDPOINT: setWhen(inBucket, bucket.BACKUP_S3_ENDPOINT),
    BACKUP_S3_BUCKET: setWhen(inBucket, bucket.BACKUP_S3_BUCKET),
    BACKUP_S3_PREFIX,
    BACKUP_S3_REGION: setWhen(inBucket, bucket.BACKUP_S3_REGION),
    BACKUP_S3_ACCESS_KEY_ID: setWhen(inBucket, bucket.BACKUP_S3_ACCESS_KEY_ID),
    BACKUP_S3_SECRET_ACCESS_KEY: setWhen(inBucket, bucket.BACKUP_S3_SECRET_ACCESS_KEY),
  },
}

const copying = {
  task: 'receipts:copy',
  env: { ...common, ...bucket, BACKUP_S3_PREFIX, BACKUP_DIRECTORY: unset },
}
