import type * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { ArchiveEnv } from '../services/collector/env.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { collectorDatabaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, setWhen, unset } from './kit/env.ts'
import { collectorImage, databasePodPullSecrets, runs } from './kit/image.ts'
import { createCronJob } from './kit/job.ts'
import { proxyEnvWhile } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount, podDefaults, podMetadata, scratch } from './kit/workload.ts'
import { all, asJson, digits, isSet, not, text } from './template/operators.ts'
import { when } from './template/structure.ts'
import { values } from './values.ts'

const { backup, collector, envVars } = values
const { archive } = collector
const { s3 } = backup

const DIRECTORY = '/var/lib/archive'
const onVolume = all(archive.enabled, isSet(archive.existingClaim))
/** Holds while archived days are in the bucket of the backups. */
export const archivesToBucket = all(archive.enabled, not(isSet(archive.existingClaim)))

const credential = (key: string) => ({
  valueFrom: { secretKeyRef: { name: s3.credentialsSecret, key } },
})

/** Where archived days are. */
const archivePlace = {
  COLLECTOR_ARCHIVE_DIRECTORY: setWhen(onVolume, DIRECTORY),
  COLLECTOR_ARCHIVE_S3_ENDPOINT: setWhen(archivesToBucket, s3.endpoint),
  COLLECTOR_ARCHIVE_S3_BUCKET: setWhen(archivesToBucket, s3.bucket),
  COLLECTOR_ARCHIVE_S3_PREFIX: setWhen(archivesToBucket, text`${s3.prefix}archive/`),
  COLLECTOR_ARCHIVE_S3_REGION: setWhen(archivesToBucket, s3.region),
  COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: setWhen(archivesToBucket, credential('access-key-id')),
  COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: setWhen(
    archivesToBucket,
    credential('secret-access-key'),
  ),
}

/** Which days are archived, for the collector. */
export const archiveSettings = {
  ...archivePlace,
  COLLECTOR_HOT_DAYS: setWhen(archive.enabled, digits(archive.hotDays)),
  COLLECTOR_ORGANIZATION_HOT_DAYS: setWhen(
    all(archive.enabled, isSet(archive.organizationHotDays)),
    asJson(archive.organizationHotDays),
  ),
  COLLECTOR_COLD_DAYS: setWhen(archive.enabled, digits(archive.coldDays)),
  ...proxyEnvWhile(archivesToBucket),
}

/** The variables of a program that knows of no archived days. */
export const noArchive = {
  COLLECTOR_HOT_DAYS: unset,
  COLLECTOR_COLD_DAYS: unset,
  COLLECTOR_ARCHIVE_DIRECTORY: unset,
  COLLECTOR_ORGANIZATION_HOT_DAYS: unset,
  COLLECTOR_ARCHIVE_S3_ENDPOINT: unset,
  COLLECTOR_ARCHIVE_S3_BUCKET: unset,
  COLLECTOR_ARCHIVE_S3_PREFIX: unset,
  COLLECTOR_ARCHIVE_S3_REGION: unset,
  COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: unset,
  COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: unset,
}

/** The volume of archived days, where they are on one. */
export const archiveVolume = {
  volume: when<k8s.Volume>(onVolume, {
    name: 'archive',
    persistentVolumeClaim: { claimName: archive.existingClaim },
  }),
  mount: when<k8s.VolumeMount>(onVolume, { name: 'archive', mountPath: DIRECTORY }),
}

const tmp = scratch('/tmp')

/** Moves old days of traces into files at certain times. */
export class Archive extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'archive')
    createCronJob(this, 'archive', {
      schedule: archive.schedule,
      deadlineSeconds: archive.deadlineSeconds,
      template: {
        metadata: podMetadata('archive', collector),
        spec: {
          ...podDefaults('archive', collector, collector),
          restartPolicy: 'Never',
          ...pod(),
        },
      },
    })
  }
}

const pod = () => ({
  imagePullSecrets: databasePodPullSecrets(collectorImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: [...caVolumes(), tmp.volume, archiveVolume.volume],
  containers: [
    {
      name: 'archive',
      ...runs(collectorImage),
      command: ['node', 'build/collector/main.js'],
      args: ['archive'],
      env: env<ArchiveEnv>({
        ...collectorDatabaseEnv,
        ...archivePlace,
        LOG_LEVEL: envVars.LOG_LEVEL,
        ...proxyEnvWhile(archivesToBucket),
      }),
      resources: resourcesOf(archive.resources),
      volumeMounts: [...caMounts(), tmp.mount, archiveVolume.mount],
      securityContext: containerSecurity(PLATFORM_USER),
    },
  ],
})
