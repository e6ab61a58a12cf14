import {
  plainVariables,
  RESTRICTED_CONTAINER,
  restrictedPod,
  secretVariables,
  toSecretData,
} from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import type { Certificates, CrewCluster, ImageBuilder } from './cluster-settings.ts'
import type { CrewNames } from './crew-names.ts'
import { CA_KEY } from './crew-trust.ts'
import { CA_SECRET, INDEX_SECRET } from './dockerfile.ts'
import { CACHE_TAG } from './image-names.ts'

const CERTIFICATES = '/certificates'
const CREDENTIALS = '/credentials'
const AUTHORITIES = '/ca'
const MOUNTS = [
  { name: 'certificates', mountPath: CERTIFICATES, keys: ['ca.pem', 'cert.pem', 'key.pem'] },
  { name: 'credentials', mountPath: CREDENTIALS, keys: ['config.json'] },
  { name: 'ca', mountPath: AUTHORITIES, keys: [CA_KEY] },
]

/** The exit codes of a build that could not reach a part that it needs. */
export const UNREACHABLE_EXITS = { web: 75, buildkit: 76, registry: 77 } as const

const unreachable = (part: keyof typeof UNREACHABLE_EXITS, message: string): string =>
  `unreachable ${UNREACHABLE_EXITS[part]} '${message}'`

/** Fetches the source into the folder `project`. */
export const FETCH_SOURCE = `timeout 300 wget -q -O source.tar.gz "$SOURCE_URL" ||
  ${unreachable('web', 'The source cannot be fetched from web.')}
echo "$SOURCE_DIGEST  source.tar.gz" | sha256sum -c - >/dev/null
tar -xzf source.tar.gz -C project
`

/** Reaches web and leaves the folder `project` empty. */
export const REACH_WEB = `timeout 60 wget -q -O /dev/null "$SOURCE_URL" ||
  ${unreachable('web', 'Web cannot be reached.')}
`

const ONLY_FRONTEND =
  'Images are built with the frontend of BuildKit itself: another one could read what other ' +
  'organizations build. Take its syntax line out.'

/**
 * The build: get the project, take its Dockerfile or the generated one, build and push. The digest
 * is its last word, as the message of the ended container.
 *
 * BuildKit keeps the layers and the cache mounts of all organizations. The name of the machine that
 * a step runs on is part of the key of its layer, and no Dockerfile can set it, so that no
 * organization is answered with a layer of another one. With a `cmdline` the frontend follows no
 * syntax line: other frontends would choose both as they like.
 */
const buildScript = (getProject: string): string => `set -eu
cd /work
rm -rf source.tar.gz project generated output && mkdir project generated
unreachable() { echo "$2" >&2; exit "$1"; }
${getProject}buildctl $BUILDKIT_FLAGS debug workers >/dev/null ||
  ${unreachable('buildkit', 'BuildKit cannot be reached.')}
if [ -f project/Dockerfile ]; then
  echo 'Building with the Dockerfile of the project.'
  dockerfile=project
  frontend=$(head -n 9 project/Dockerfile |
    sed -n 's/^#[[:space:]]*[sS][yY][nN][tT][aA][xX][[:space:]]*=[[:space:]]*//p')
  case "$frontend" in
    '' | docker/dockerfile* | docker.io/docker/dockerfile*) ;;
    *) echo "The Dockerfile asks for the frontend $frontend. ${ONLY_FRONTEND}" >&2; exit 1 ;;
  esac
else
  echo 'Building with a generated Dockerfile: the project has none.'
  printf '%s' "$DOCKERFILE" >generated/Dockerfile
  dockerfile=generated
fi
mkfifo output
tee build.log <output >&2 &
buildctl $BUILDKIT_FLAGS build --progress=plain --frontend dockerfile.v0 \\
  --local context=project --local dockerfile="$dockerfile" \\
  --opt cmdline=dockerfile.v0 \\
  --opt hostname="$BORDER" --opt build-arg:BUILDKIT_CACHE_MOUNT_NS="$BORDER" \\
  --opt build-arg:PYTHON_VERSION="\${PYTHON_VERSION:-}" \\
  $PROXY_FLAGS --secret id=${INDEX_SECRET},env=UV_INDEX \\
  --secret id=${CA_SECRET},src=${AUTHORITIES}/${CA_KEY} \\
  --import-cache "type=registry,ref=$CACHE" \\
  --export-cache "type=registry,ref=$CACHE,$CACHE_OPTIONS" \\
  --output "type=image,name=$IMAGE,push=true" \\
  --metadata-file metadata.json 2>output || failed=$?
wait
if [ -n "\${failed:-}" ]; then
  ! grep -q '^error: failed to solve: failed to push' build.log ||
    ${unreachable('registry', 'The image cannot be pushed to the registry.')}
  exit "$failed"
fi
sed -n 's/.*"containerimage.digest": *"\\(sha256:[0-9a-f]*\\)".*/\\1/p' metadata.json \\
  >/dev/termination-log
`

/** How a build reaches BuildKit and the registry. */
export interface BuildAccess {
  readonly builder: ImageBuilder
  /** The organization whose layers and cache mounts the build may use. */
  readonly organizationId: number
  /** The repository of the image, as BuildKit reaches it. */
  readonly repository: string
  readonly certificates: Certificates
  /** The `config.json` of Docker with the credentials for it. */
  readonly dockerConfig: string
}

/** An image to build, and the names of the objects that do it. */
export interface BuildOrder {
  readonly names: CrewNames
  readonly cluster: CrewCluster
  readonly access: BuildAccess
  /** The tag under which it is pushed. */
  readonly tag: string
  /** The longest time that the build may take. */
  readonly seconds: number
  /** `FETCH_SOURCE` or `REACH_WEB`. */
  readonly getProject: string
  /** The Dockerfile for a project that has none. */
  readonly dockerfile: string
  readonly pythonVersion: string | null
  readonly sourceUrl: string
  readonly sourceDigest: string
  /** The tools indexes with their token, as uv takes them. */
  readonly indexes: string
  /** Certificate authorities of the operator's own, in PEM. */
  readonly caBundle?: string | undefined
}

const filesOf = ({ certificates, dockerConfig }: BuildAccess) => ({
  'ca.pem': certificates.ca,
  'cert.pem': certificates.cert,
  'key.pem': certificates.key,
  'config.json': dockerConfig,
})

/** What the build must keep to itself. */
export const buildSecret = ({
  names,
  cluster,
  sourceUrl,
  indexes,
  access,
  caBundle = '',
}: BuildOrder): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: names.build, namespace: names.namespace, labels: names.labels },
  type: 'Opaque',
  data: toSecretData({
    SOURCE_URL: sourceUrl,
    UV_INDEX: indexes,
    PROXY_FLAGS: proxyFlagsOf(cluster),
    ...filesOf(access),
    [CA_KEY]: caBundle,
  }),
})

/** Returns the Job that makes an image, which passes Pod Security "restricted". */
export function buildJob(order: BuildOrder): KubernetesObject {
  const { names, cluster, seconds } = order
  const { pullSecrets } = cluster
  const labels = { ...names.labels, ...names.buildSelector }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: names.build, namespace: names.namespace, labels: names.labels },
    spec: {
      // A build that failed would fail again; what could not be reached is tried with a new Job.
      backoffLimit: 0,
      activeDeadlineSeconds: seconds,
      ttlSecondsAfterFinished: seconds,
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
          containers: [client(order)],
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

const client = ({ access, ...order }: BuildOrder) => ({
  name: 'build',
  image: access.builder.image,
  imagePullPolicy: 'IfNotPresent',
  command: ['sh', '-c', buildScript(order.getProject)],
  env: [
    ...plainVariables({
      HOME: '/work',
      SOURCE_DIGEST: order.sourceDigest,
      PYTHON_VERSION: order.pythonVersion ?? '',
      DOCKERFILE: order.dockerfile,
      BORDER: `organization-${access.organizationId}`,
      IMAGE: `${access.repository}:${order.tag}`,
      CACHE: `${access.repository}:${CACHE_TAG}`,
      CACHE_OPTIONS: 'mode=max,image-manifest=true,ignore-error=true',
      BUILDKIT_FLAGS: flagsOf(access.builder),
      DOCKER_CONFIG: CREDENTIALS,
    }),
    ...secretVariables(order.names.build, ['SOURCE_URL', 'UV_INDEX', 'PROXY_FLAGS']),
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
