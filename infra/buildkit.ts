import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { hasOwnBuildTls, tlsSecret } from './build-tls.ts'
import { addressOf } from './calls.ts'
import { caDirectoryVariable, caMounts, caVolumes } from './kit/ca-bundle.ts'
import { mainContainer } from './kit/customize.ts'
import { buildkitImage, pullSecretOf, runs } from './kit/image.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { variables } from './kit/env.ts'
import { proxyEnv } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import { PLATFORM_USER } from './kit/security.ts'
import {
  accountAnnotations,
  createDeployment,
  createService,
  createServiceAccount,
} from './kit/workload.ts'
import { helper } from './template/named.ts'
import { any, digest, isSet, text } from './template/operators.ts'
import { create } from './kit/create.ts'
import { noted, when } from './template/structure.ts'
import { values } from './values.ts'

const { buildkit } = values

const hasTls = any(isSet(buildkit.tlsSecret), hasOwnBuildTls)

/** Builds the images of crews, rootless. */
export class Buildkit extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'buildkit', accountAnnotations(buildkit))
    create(this, k8s.KubeConfigMap, {
      metadata: { name: nameOf('buildkit'), labels: labels('buildkit') },
      data: { 'buildkitd.toml': CONFIG },
    })
    createService(this, 'buildkit', {
      given: buildkit.service,
      ports: [
        { name: 'grpc', port: buildkit.port, targetPort: k8s.IntOrString.fromString('grpc') },
      ],
    })
    createDeployment(this, {
      component: 'buildkit',
      replicas: 1,
      pods: buildkit,
      annotations: { 'checksum/config': digest(CONFIG) },
      pod: {
        imagePullSecrets: pullSecretOf(buildkitImage),
        securityContext: {
          runAsUser: PLATFORM_USER,
          runAsGroup: PLATFORM_USER,
          fsGroup: PLATFORM_USER,
          runAsNonRoot: true,
          appArmorProfile: noted(
            'BuildKit makes its own sandbox out of user namespaces and mounts, which ' +
              "AppArmor's default profile forbids.",
            { type: 'Unconfined' },
          ),
        },
        terminationGracePeriodSeconds: buildkit.terminationGracePeriodSeconds,
        containers: [mainContainer(buildkit, daemon())],
        volumes: [
          { name: 'cache', emptyDir: {} },
          { name: 'config', configMap: { name: nameOf('buildkit') } },
          ...caVolumes(),
          when<k8s.Volume>(hasTls, {
            name: 'certificates',
            secret: {
              secretName: tlsSecret,
              items: ['ca.pem', 'cert.pem', 'key.pem'].map((key) => ({ key, path: key })),
            },
          }),
        ],
      },
    })
  }
}

const CONFIG = helper(
  { name: 'platform.buildkitConfig', comment: 'The configuration of BuildKit.' },
  text`[frontend."gateway.v0"]
  enabled = false
[worker.oci]
  gc = true
  maxUsedSpace = "${buildkit.cacheGigabytes}GB"
[registry."${addressOf({ from: 'buildkit', to: 'internal-registry' })}"]
  http = true
${buildkit.config}`,
)

const daemon = () => ({
  name: 'buildkitd',
  ...runs(buildkitImage),
  args: [
    '--config=/etc/buildkit/buildkitd.toml',
    '--addr=unix:///run/user/1000/buildkit/buildkitd.sock',
    text`--addr=tcp://0.0.0.0:${buildkit.port}`,
    noted(
      'A process sandbox would need a privileged container.',
      '--oci-worker-no-process-sandbox',
    ),
    when<string>(hasTls, '--tlscacert=/certificates/ca.pem'),
    when<string>(hasTls, '--tlscert=/certificates/cert.pem'),
    when<string>(hasTls, '--tlskey=/certificates/key.pem'),
  ],
  ports: [{ name: 'grpc', containerPort: buildkit.port }],
  env: [...variables(proxyEnv()), caDirectoryVariable],
  startupProbe: works,
  readinessProbe: works,
  livenessProbe: { tcpSocket: { port: k8s.IntOrString.fromString('grpc') } },
  resources: resourcesOf(buildkit.resources),
  volumeMounts: [
    noted(
      "On some nodes the image's own file system is mounted nosuid, which rootless " +
        'mounts cannot live on.',
      { name: 'cache', mountPath: '/home/user/.local/share/buildkit' },
    ),
    { name: 'config', mountPath: '/etc/buildkit', readOnly: true },
    ...caMounts(),
    when<k8s.VolumeMount>(hasTls, {
      name: 'certificates',
      mountPath: '/certificates',
      readOnly: true,
    }),
  ],
  securityContext: {
    runAsUser: PLATFORM_USER,
    runAsNonRoot: true,
    privileged: false,
    allowPrivilegeEscalation: noted(
      'newuidmap is setuid root: it gives the build a range of users of its own.',
      true,
    ),
    seccompProfile: { type: 'Unconfined' },
  },
})

const works = { exec: { command: ['buildctl', 'debug', 'workers'] } }
