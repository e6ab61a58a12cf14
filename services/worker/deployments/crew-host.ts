import type { ImageLayer } from '../../platform/crews/crew-images.ts'
import type { LogStream } from '../../platform/crews/crew-logs.ts'
import type { BuildSettings, CrewWay } from '../../platform/crews/crew-settings.ts'

/** The automation that a crew belongs to. */
export interface CrewOwner {
  /** The id of the automation's row. */
  readonly deploymentId: number
  readonly automationId: string
  readonly organizationId: number
  /** Lower-case letters, digits and hyphens; unique on the platform. */
  readonly slug: string
}

/** The source that a crew is made of: a .tar.gz without links and without paths out of it. */
interface CrewSource {
  readonly id: number
  /** Of its files, in hexadecimal digits. */
  readonly digest: string
  /** Of the archive, in hexadecimal digits. */
  readonly archiveSha256: string
  /** Reads the archive from its beginning; may be called again. */
  read(): AsyncIterable<Uint8Array>
}

/** One deployment of an automation, as it should run. */
export interface WantedCrew {
  /** The id of the deployment, unique on the platform. */
  readonly id: number
  /** 1, 2, … within the automation. */
  readonly number: number
  readonly owner: CrewOwner
  readonly way: CrewWay
  readonly source: CrewSource
  /** What people set; quantities are written as Kubernetes has them. */
  readonly settings: Omit<BuildSettings, 'way'>
  /** At least 1: a crew that is to be stopped is not brought up. */
  readonly replicas: number
  /** Processes that started before have to be replaced; null: none. */
  readonly restartedAt: Date | null
  /** What the crew's programs find in their environment, with secrets that were opened. */
  readonly variables: Readonly<Record<string, string>>
  /** The image that an earlier call made of this source; null: there is none yet. */
  readonly image: string | null
  /** Where it was reached before; a host keeps to it if it can. */
  readonly url: string | null
  /** The time of the last line of the crew's own output that is kept; undefined: none is. */
  readonly loggedUntil: Date | undefined
}

/** How a host tells what it does. Neither raises. */
export interface CrewProgress {
  /** The crew is being made of its source, or its programs start. */
  readonly state: (state: 'Building' | 'Deploying') => void
  /**
   * Keeps some lines; the oldest go when there are too many. May be called for as long as the crew
   * runs.
   */
  readonly log: (stream: LogStream, text: string) => void
}

/** How an attempt to bring up a crew ended. */
export type CrewOutcome =
  | {
      readonly outcome: 'online'
      /** Where workers reach it. */
      readonly url: string
      /** By its digest, when one was made. */
      readonly image?: string
      /** What it is made of. */
      readonly layers?: readonly ImageLayer[]
    }
  /** The crew is at fault: another try would end in the same way. */
  | {
      readonly outcome: 'failed'
      /** A sentence or two: what went wrong, and what to do. */
      readonly reason: string
      /** The end of what was printed; no more than some lines. */
      readonly lastLines?: string
    }

/** What runs of a deployment. */
export type SeenCrew =
  /** It is healthy, and as it is wanted. */
  | { readonly condition: 'online'; readonly url: string }
  /** It is there, and not healthy; the host tries to make it so. */
  | { readonly condition: 'down'; readonly reason: string }
  /** Nothing is there, or it is not as it is wanted: `bringUp` repairs it. */
  | {
      readonly condition: 'drifted'
      readonly reason: string
      /** What is there takes runs meanwhile, such as processes that are to be replaced. */
      readonly isServing: boolean
    }

/**
 * Runs crews on one kind of machinery. Each call may be made again, by another worker as well, and
 * then goes on with what is there. What is not the crew's fault, such as machinery that cannot be
 * reached, is raised: the call is made again later. The signal aborts when the worker stops, or
 * when another one took over.
 */
export interface CrewHost {
  /** The ways that it offers; the first one is for crews that name none. */
  readonly ways: readonly [CrewWay, ...CrewWay[]]
  /**
   * Makes a crew of its source unless it is made, starts it and waits until it is healthy. Other
   * deployments of the automation go on as they are. What a failed one leaves is removed by
   * `keepOnly`.
   */
  bringUp(crew: WantedCrew, progress: CrewProgress, signal: AbortSignal): Promise<CrewOutcome>
  /**
   * Compares what runs with what is wanted, and changes nothing. Called every minute for a crew
   * that is online: a host that has to ask for its output asks now for what came after
   * `loggedUntil`.
   */
  look(crew: WantedCrew, progress: CrewProgress, signal: AbortSignal): Promise<SeenCrew>
  /**
   * Ends whatever runs of the automation, except for deployments of these ids: they hear of it,
   * and have the time to end or hand over their runs.
   */
  keepOnly(owner: CrewOwner, ids: readonly number[], signal: AbortSignal): Promise<void>
  /**
   * Deletes the images of the automation, except these. Returns how many it deleted, whose room
   * `freeImages` frees.
   */
  keepImages(owner: CrewOwner, images: readonly string[], signal: AbortSignal): Promise<number>
  /** Frees the room of images that were deleted. No crew is built when it is called. */
  freeImages(): Promise<void>
  /** Ends everything of the automation, and deletes what was kept for it. */
  remove(owner: CrewOwner, signal: AbortSignal): Promise<void>
  /** Called when the worker stops. Crews that are this process's children end here. */
  stop(): Promise<void>
}
