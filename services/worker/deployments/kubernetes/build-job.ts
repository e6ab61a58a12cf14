import {
  plainVariables,
  RESTRICTED_CONTAINER,
  restrictedPod,
  secretVariables,
  toSecretData,
} from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import type { Certificates, CrewCluster, ImageBuilder } from './cluster-settings.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import { generateDockerfile } from './dockerfile.ts'
import { CACHE_TAG, imageTag } from './image-names.ts'
import { EXIT_UNREACHABLE } from './install-script.ts'

const CERTIFICATES = '/certificates'
const CREDENTIALS = '/credentials'
const MOUNTS = [
  { name: 'certificates', mountPath: CERTIFICATES, keys: ['ca.pem', 'cert.pem', 'key.pem'] },
  { name: 'credentials', mountPath: CREDENTIALS, keys: ['config.json'] },
]
/** The longest time that a build may take. */
export const BUILD_SECONDS = 3600

/**
 * The build: fetch the source, take the project's Dockerfile or the generated one, build and push.
 * The digest is its last word, as the message of the ended container.
 */
const BUILD = `set -eu
cd /work
rm -rf source.tar.gz project generated output && mkdir project generated
unreachable() { echo "$1" >&2; exit ${EXIT_UNREACHABLE}; }
timeout 300 wget -q -O source.tar.gz "$SOURCE_URL" ||
  unreachable 'The source cannot be fetched from web.'
echo "$SOURCE_DIGEST  source.tar.gz" | sha256sum -c - >/dev/null
tar -xzf source.tar.gz -C project
buildctl $BUILDKIT_FLAGS debug workers >/dev/null || unreachable 'BuildKit cannot be reached.'
if [ -f project/Dockerfile ]; then
  echo 'Building with the Dockerfile of the project.'
  dockerfile=project
else
  echo 'Building with a generated Dockerfile: the project has none.'
  printf '%s' "$DOCKERFILE" >generated/Dockerfile
  dockerfile=generated
fi
mkfifo output
tee build.log <output >&2 &
buildctl $BUILDKIT_FLAGS build --progress=plain --frontend dockerfile.v0 \\
  --local context=project --local dockerfile="$dockerfile" \\
  --opt build-arg:PYTHON_VERSION="\${PYTHON_VERSION:-}" \\
  $PROXY_FLAGS --secret id=uv_index,env=UV_INDEX \\
  --import-cache "type=registry,ref=$CACHE" \\
  --export-cache "type=registry,ref=$CACHE,$CACHE_OPTIONS" \\
  --output "type=image,name=$IMAGE,push=true" \\
  --metadata-file metadata.json 2>output || failed=$?
wait
if [ -n "\${failed:-}" ]; then
  ! grep -q '^error: failed to solve: failed to push' build.log ||
    unreachable 'The image cannot be pushed to the registry.'
  exit "$failed"
fi
sed -n 's/.*"containerimage.digest": *"\\(sha256:[0-9a-f]*\\)".*/\\1/p' metadata.json \\
  >/dev/termination-log
`

/** What a build needs beside the crew that it is of. */
export interface Build {
  readonly builder: ImageBuilder
  /** The repository of the image, as BuildKit reaches it. */
  readonly repository: string
  readonly certificates: Certificates
  /** The `config.json` of Docker with the credentials for it. */
  readonly dockerConfig: string
}

const filesOf = ({ certificates, dockerConfig }: Build) => ({
  'ca.pem': certificates.ca,
  'cert.pem': certificates.cert,
  'key.pem': certificates.key,
  'config.json': dockerConfig,
})

/** What the build must keep to itself. */
export const buildSecret = (
  { names, cluster, sourceUrl, indexes }: DescribedCrew,
  build: Build,
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: names.build, namespace: names.namespace, labels: names.labels },
  type: 'Opaque',
  data: toSecretData({
    SOURCE_URL: sourceUrl,
    UV_INDEX: indexes,
    PROXY_FLAGS: proxyFlagsOf(cluster),
    ...filesOf(build),
  }),
})

/** Returns the Job that makes the image of a crew, which passes Pod Security "restricted". */
export function buildJob(crew: DescribedCrew, build: Build): KubernetesObject {
  const { names, cluster } = crew
  const { pullSecrets } = cluster
  const labels = { ...names.labels, ...names.buildSelector }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: names.build, namespace: names.namespace, labels: names.labels },
    spec: {
      // A build that failed would fail again; what could not be reached is tried with a new Job.
      backoffLimit: 0,
      activeDeadlineSeconds: BUILD_SECONDS,
      ttlSecondsAfterFinished: BUILD_SECONDS,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(pullSecrets.length > 0
            ? { imagePullSecrets: pullSecrets.map((name) => ({ name })) }
            : {}),
          securityContext: restrictedPod(cluster),
          containers: [client(crew, build)],
          volumes: [
            { name: 'work', emptyDir: { sizeLimit: '1Gi' } },
            ...MOUNTS.map(({ name, keys }) => ({
              name,
              secret: {
                secretName: names.build,
                items: keys.map((key) => ({ key, path: key })),
              },
            })),
          ],
        },
      },
    },
  }
}

const client = ({ wanted, names, cluster }: DescribedCrew, build: Build) => ({
  name: 'build',
  image: build.builder.image,
  imagePullPolicy: 'IfNotPresent',
  command: ['sh', '-c', BUILD],
  env: [
    ...plainVariables({
      HOME: '/work',
      SOURCE_DIGEST: wanted.source.archiveSha256,
      PYTHON_VERSION: wanted.settings.pythonVersion ?? '',
      DOCKERFILE: generateDockerfile(cluster.pythonImage),
      IMAGE: `${build.repository}:${imageTag(wanted.id)}`,
      CACHE: `${build.repository}:${CACHE_TAG}`,
      CACHE_OPTIONS: 'mode=max,image-manifest=true,ignore-error=true',
      BUILDKIT_FLAGS: flagsOf(build.builder),
      DOCKER_CONFIG: CREDENTIALS,
    }),
    ...secretVariables(names.build, ['SOURCE_URL', 'UV_INDEX', 'PROXY_FLAGS']),
  ],
  resources: {
    requests: { cpu: '20m', memory: '64Mi' },
    limits: { cpu: '500m', memory: '512Mi' },
  },
  volumeMounts: [
    { name: 'work', mountPath: '/work' },
    ...MOUNTS.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
  ],
  securityContext: RESTRICTED_CONTAINER,
})

/** BuildKit keeps these arguments out of images and of the keys of its cache. */
const proxyFlagsOf = ({ proxy }: CrewCluster): string =>
  Object.entries(proxy)
    .map(([name, value]) => `--opt build-arg:${name}=${value.replaceAll(/\s/g, '')}`)
    .join(' ')

const flagsOf = ({ address }: ImageBuilder): string =>
  [
    `--addr ${address}`,
    `--tlscacert ${CERTIFICATES}/ca.pem`,
    `--tlscert ${CERTIFICATES}/cert.pem`,
    `--tlskey ${CERTIFICATES}/key.pem`,
  ].join(' ')
