import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { customPod, mainContainer } from './kit/customize.ts'
import { postgresImage, pullSecretOf, runs } from './kit/image.ts'
import { labels, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { resourcesOf } from './kit/resources.ts'
import { fromSecret, secretsChecksum } from './kit/secret-keys.ts'
import { containerSecurity, podSecurity, POSTGRES_USER } from './kit/security.ts'
import {
  accountAnnotations,
  createService,
  createServiceAccount,
  podDefaults,
  podMetadata,
  scratch,
} from './kit/workload.ts'
import { create } from './kit/create.ts'
import { noted, quantity, spread, when, whenSet } from './template/structure.ts'
import { not } from './template/operators.ts'
import { values } from './values.ts'

const { postgres, envVars } = values
const PORT = 5432

type RetentionPolicy = k8s.StatefulSetPersistentVolumeClaimRetentionPolicy

/**
 * PostgreSQL inside the cluster: one server with the main database; the collector adds its own
 * (SPEC appendix 1).
 */
export class Postgres extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'postgres', accountAnnotations(postgres))
    createService(this, 'postgres', {
      given: postgres.service,
      ports: [
        {
          name: 'postgres',
          port: envVars.DB_PORT,
          targetPort: k8s.IntOrString.fromString('postgres'),
        },
      ],
    })
    create(this, CompleteStatefulSet, {
      metadata: { name: nameOf('postgres'), labels: labels('postgres') },
      spec: {
        replicas: 1,
        revisionHistoryLimit: postgres.revisionHistoryLimit,
        persistentVolumeClaimRetentionPolicy: when<RetentionPolicy>(not(postgres.storage.retain), {
          whenDeleted: 'Delete',
          whenScaled: 'Retain',
        }),
        serviceName: nameOf('postgres'),
        selector: { matchLabels: selectorLabels('postgres') },
        template: {
          metadata: podMetadata('postgres', postgres, secretsChecksum('DB_PASSWORD')),
          spec: {
            ...podDefaults('postgres', postgres, postgres),
            ...customPod(postgres, {
              imagePullSecrets: pullSecretOf(postgresImage),
              securityContext: podSecurity(POSTGRES_USER),
              terminationGracePeriodSeconds: noted(
                'Time for a fast shutdown with its checkpoint.',
                postgres.terminationGracePeriodSeconds,
              ),
              containers: [mainContainer(postgres, server())],
              volumes: [sockets.volume, tmp.volume],
            }),
          },
        },
        volumeClaimTemplates: [dataClaim()],
      },
    })
  }
}

/**
 * A StatefulSet with its claims as the server completes them, because an apply compares them as a
 * whole. The types describe a claim template without a kind and a status, and would drop both.
 */
class CompleteStatefulSet extends k8s.KubeStatefulSet {
  static override manifest(props: k8s.KubeStatefulSetProps): unknown {
    const manifest = super.manifest(props)
    const { volumeClaimTemplates } = manifest.spec
    manifest.spec.volumeClaimTemplates = volumeClaimTemplates.map((claim: object) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      ...claim,
      status: { phase: 'Pending' },
    }))
    return manifest
  }
}

const sockets = scratch('/var/run/postgresql')
const tmp = scratch('/tmp')

const dataClaim = () => ({
  metadata: { name: 'data', annotations: spread(postgres.storage.annotations) },
  spec: {
    accessModes: ['ReadWriteOnce'],
    volumeMode: 'Filesystem',
    storageClassName: whenSet(postgres.storage.className),
    resources: { requests: { storage: quantity(postgres.storage.size) } },
  },
})

const server = () => ({
  name: 'postgres',
  ...runs(postgresImage),
  ports: [{ name: 'postgres', containerPort: PORT }],
  env: [
    { name: 'POSTGRES_USER', value: envVars.DB_USER },
    { name: 'POSTGRES_DB', value: envVars.DB_NAME },
    { name: 'POSTGRES_PASSWORD', ...fromSecret('DB_PASSWORD') },
  ],
  startupProbe: isReady,
  // Not `isReady`: a server that recovers after a crash refuses sessions, and would never get to
  // its end.
  livenessProbe: { tcpSocket: { port: k8s.IntOrString.fromString('postgres') } },
  readinessProbe: isReady,
  lifecycle: { postStart: { exec: { command: ['sh', '-c', SET_PASSWORD] } } },
  resources: resourcesOf(postgres.resources),
  volumeMounts: [
    noted('The image of PostgreSQL 18 keeps its data in a directory per version below this one.', {
      name: 'data',
      mountPath: '/var/lib/postgresql',
    }),
    sockets.mount,
    tmp.mount,
  ],
  securityContext: containerSecurity(POSTGRES_USER),
})

// `exec`: of a probe that is killed for its time, no child is left. The server would be its parent,
// and takes one that ends with 2, as this does without an answer, for a session that crashed.
const ASK = 'exec pg_isready -h 127.0.0.1 -U "$POSTGRES_USER" -d "$POSTGRES_DB"'
const isReady = { exec: { command: ['sh', '-c', ASK] } }

// The image sets the password only when it creates the data directory; a password that changed
// later has to be set again.
const SET_PASSWORD = `until pg_isready -q -h 127.0.0.1 -U "$POSTGRES_USER"; do sleep 1; done
psql -q -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
\\getenv role POSTGRES_USER
\\getenv password POSTGRES_PASSWORD
set password_encryption = 'scram-sha-256';
alter role :"role" password :'password';
SQL`
