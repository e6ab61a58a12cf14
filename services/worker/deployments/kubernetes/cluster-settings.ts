import type { CrewMaxima } from '../../../platform/crews/crew-resources.ts'
import type { ReachRules } from '../../../platform/crews/crew-reach.ts'
import type { PlatformRelease } from '../../../shared/kubernetes/network-peers.ts'

/** What the operator set for crews from source. */
export interface CrewCluster {
  /** The installation of the platform, whose pods reach crews. */
  readonly home: PlatformRelease
  /** An image with uv and Python. */
  readonly pythonImage: string
  /** @default IfNotPresent */
  readonly pullPolicy: string
  /** Secrets where the crews are, with which nodes pull images. */
  readonly pullSecrets: readonly string[]
  /** The cluster assigns user and group, and refuses others. */
  readonly hasArbitraryUser: boolean
  /** Crews get a NetworkPolicy. */
  readonly isGuarded: boolean
  /** What the lists of automations may open. */
  readonly reach: ReachRules
  /** The private origins that organizations may call for models. */
  readonly modelOrigins: readonly string[]
  /** The namespaces of models and tools inside the cluster. */
  readonly openNamespaces: readonly string[]
  /** The address of web for pods of the cluster, without a slash at its end. */
  readonly webUrl: string
  readonly maxima: CrewMaxima
  /** The variables that lead programs of crews to the proxy; none without one. */
  readonly proxy: Readonly<Record<string, string>>
  /** Returns certificate authorities of the operator's own, in PEM. @default there are none */
  readonly caBundle?: (() => Promise<string>) | undefined
  /** Builds images; without it crews are installed when their pods start. */
  readonly builder?: ImageBuilder | undefined
}

/** BuildKit, and the registry that it pushes to. */
export interface ImageBuilder {
  /** An image with BuildKit's client. */
  readonly image: string
  /** `tcp://` with host and port. */
  readonly address: string
  /** The registry as BuildKit reaches it: host and port. */
  readonly registry: string
  /**
   * The ids of the organizations that trust each other, or `*` for all. None of them: those of
   * which there is one.
   */
  readonly organizations: readonly string[]
  /** Returns the host and port under which nodes reach the same registry. */
  readonly pullAddress: () => Promise<string>
  /** Returns the client's certificate, with its authority. */
  readonly certificates: () => Promise<Certificates>
  /** The key from which the credentials of the registry derive. */
  readonly registryKey: string
  /** Has the registry free the room of what was deleted: it does so when it starts. */
  readonly freeImages: () => Promise<void>
}

/** A certificate in PEM. */
export interface Certificates {
  readonly ca: string
  readonly cert: string
  readonly key: string
}
