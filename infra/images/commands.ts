import type { ForeignImage, OwnImage } from './chart-images.ts'

/** The programs that can build images, in order of preference. */
export const BUILDERS = ['docker', 'podman', 'buildah'] as const
/** A program that builds images. */
export type Builder = (typeof BUILDERS)[number]

/** The kinds of clusters on this machine that images can be loaded into. */
export const CLUSTERS = ['kind', 'minikube', 'k3s', 'containerd'] as const
/** A kind of cluster on this machine. */
export type Cluster = (typeof CLUSTERS)[number]

type Command = readonly string[]

/** The label with the digest of what an image is made of. */
const LABEL = 'crew-platform.content'

/** Builds one target of the Dockerfile in the current directory. */
export const buildCommand = (
  builder: Builder,
  { target, reference, digest }: OwnImage & { readonly digest: string },
  extra: readonly string[] = [],
): Command => [
  builder,
  'build',
  ...(builder === 'buildah' ? ['--layers'] : []),
  '--target',
  target,
  '--tag',
  reference,
  '--label',
  `${LABEL}=${digest}`,
  ...extra,
  '.',
]

/** Prints the digest of what an image of this machine is made of. */
export const labelCommand = (builder: Builder, reference: string): Command =>
  builder === 'buildah'
    ? [builder, 'inspect', '--type', 'image', '--format', labelIn('.OCIv1'), reference]
    : [builder, 'image', 'inspect', '--format', labelIn(''), reference]

const labelIn = (image: string): string => `{{index ${image}.Config.Labels "${LABEL}"}}`

/** Pushes an image to its registry, whose digest for it docker remembers and the others write. */
export const pushCommand = (
  builder: Builder,
  reference: string,
  digestFile: string | undefined,
): Command => [
  builder,
  'push',
  ...(digestFile === undefined || builder === 'docker' ? [] : ['--digestfile', digestFile]),
  reference,
]

/** Prints the digests that registries have given to an image; the others write them on a push. */
export const digestCommand = (reference: string): Command => [
  'docker',
  'image',
  'inspect',
  '--format',
  '{{json .RepoDigests}}',
  reference,
]

/** Copies an image of somebody else to the reference that the chart runs. */
export const mirrorCommands = (
  builder: Builder,
  { source, reference }: ForeignImage,
): readonly Command[] => [
  [builder, 'pull', source],
  ...(source === reference ? [] : [[builder, 'tag', source, reference]]),
]

/** Writes an image into an archive that every cluster loads. */
export function saveCommand(builder: Builder, reference: string, file: string): Command {
  return builder === 'buildah'
    ? ['buildah', 'push', reference, `docker-archive:${file}:${reference}`]
    : [builder, 'save', '--output', file, reference]
}

const LOAD: Readonly<Record<Cluster, Command>> = {
  kind: ['kind', 'load', 'image-archive'],
  minikube: ['minikube', 'image', 'load'],
  k3s: ['k3s', 'ctr', 'images', 'import'],
  containerd: ['ctr', '--namespace', 'k8s.io', 'images', 'import'],
}

/** Loads an archive into a cluster that runs on this machine. */
export const loadCommand = (cluster: Cluster, file: string): Command => [...LOAD[cluster], file]
