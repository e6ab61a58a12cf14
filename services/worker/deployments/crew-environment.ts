import { signCollectorToken } from '../../shared/collector-token.ts'
import { crewToken } from '../../shared/crew-token.ts'
import type { WantedCrew } from './crew-host.ts'

/** As long as a token that nobody can revoke may be good. */
const TRACES_SECONDS = 90 * 86_400

/** What crews are given by the platform, whatever they run on. */
export interface CrewEnvironmentDeps {
  readonly secretKeyBase: string
  /** Where crews send their spans; without it they send none. */
  readonly collector?: { readonly url: string; readonly secret: string } | undefined
  /** An OpenAI-compatible model without a key, for crews that name none of their own. */
  readonly modelUrl?: string | undefined
  /** The time that a crew has, when it is told to stop, until its runs go on elsewhere. */
  readonly drainSeconds: number
}

interface CrewEnvironment {
  readonly variables: Readonly<Record<string, string>>
  /** The values among them that the platform made, and nobody may see. */
  readonly secrets: readonly string[]
}

/**
 * Returns the environment of a crew: the variables of its automation, and what the platform gives
 * it. A crew may send its spans elsewhere; what it is called with is not its choice.
 */
export async function createCrewEnvironment(
  { secretKeyBase, collector, modelUrl, drainSeconds }: CrewEnvironmentDeps,
  { owner, settings, variables }: WantedCrew,
): Promise<CrewEnvironment> {
  const token = crewToken(secretKeyBase, owner.automationId)
  const traces = collector && (await signTraces(collector.secret, owner.organizationId))
  const { entrypoint } = settings
  return {
    variables: {
      OTEL_SERVICE_NAME: owner.slug,
      ...(collector && traces ? spansTo(collector.url, traces) : {}),
      ...(modelUrl !== undefined && { OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: 'none' }),
      ...variables,
      CREW_TOKEN: token,
      CREW_DRAIN_SECONDS: String(drainSeconds),
      ...(entrypoint === null ? {} : { CREW_ENTRYPOINT: entrypoint }),
    },
    secrets: traces ? [token, traces] : [token],
  }
}

/** Clients ask for some key, whatever it is. */

const signTraces = (secret: string, organizationId: number): Promise<string> =>
  signCollectorToken(secret, 'crew', {
    scopes: ['traces:write'],
    organization: String(organizationId),
    seconds: TRACES_SECONDS,
  })

const spansTo = (url: string, token: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${token}`,
})
