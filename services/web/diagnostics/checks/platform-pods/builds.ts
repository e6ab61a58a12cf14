import { html } from 'hono/html'
import { findBuildChecks } from '../../../../platform/crews/build-checks.ts'
import type { BuildChecks, BuildProblemCode } from '../../../../platform/crews/build-checks.ts'
import { readOnly } from '../../../../platform/diagnostics.ts'
import type { Html } from '../../../console/frame/parts.ts'
import type { CheckContext } from '../../check.ts'
import { VERIFY_BUILDS } from '../../cluster-commands.ts'
import { declareCodes } from '../../failure-code.ts'
import type { FailureCode } from '../../failure-code.ts'
import { warning } from '../../finding.ts'
import type { ShownDetails, Warning } from '../../finding.ts'
import { orAbort } from '../../or-abort.ts'
import { CERTIFICATE_WARNINGS, warnOfExpiry } from '../../time-warnings.ts'

/** A worker looks once a minute. */
const STALE_MINUTES = 5

const PROBLEMS: Readonly<Record<BuildProblemCode, FailureCode>> = declareCodes({
  buildkit_unreachable:
    '`kubectl -n {namespace} logs deployment/{fullname}-buildkit` says more. Let workers and the ' +
    'Jobs beside the crews reach it.',
  buildkit_tls_failed:
    'Restart BuildKit with its newest certificates: `kubectl -n {namespace} rollout restart ' +
    'deployment/{fullname}-buildkit`. A Secret in buildkit.tlsSecret needs all five files.',
  build_registry_unreachable:
    '`kubectl -n {namespace} logs deployment/{fullname}-internal-registry --all-containers` ' +
    'says more.',
  build_registry_refused:
    'Give the registry and the workers the same REGISTRY_KEY: `kubectl -n {namespace} rollout ' +
    'restart deployment/{fullname}-internal-registry deployment/{fullname}-worker`.',
  pull_address_unusable:
    'Apply the chart again, which gives the Service a node port, or correct ' +
    'internalRegistry.pullAddress.',
  build_not_started:
    'The message has the words of the cluster: a quota, a missing right, or an image of BuildKit ' +
    `that cannot be pulled. ${VERIFY_BUILDS}`,
  build_web_unreachable:
    'Let pods beside the crews reach web: network policies, DNS. ' + VERIFY_BUILDS,
  build_failed:
    'The last lines say why: mostly BuildKit does not reach the registry of crews.pythonImage ' +
    `(buildkit.config names mirrors), or may not start containers. ${VERIFY_BUILDS}`,
  build_push_failed:
    'Look at the registry: its gate, its volume, and whether BuildKit reaches it. `kubectl -n ' +
    '{namespace} logs deployment/{fullname}-internal-registry --all-containers` says more. ' +
    VERIFY_BUILDS,
  build_image_lost:
    'The registry did not keep what was pushed. Look at its volume. ' + VERIFY_BUILDS,
  build_pull_failed:
    'Where nodes do not reach the registry at localhost, set internalRegistry.pullAddress to an ' +
    `address with TLS. ${VERIFY_BUILDS}`,
})

const OWN = declareCodes({
  builds_unchecked:
    'See that workers run, and that crews.fromSource is on and internalRegistry.htpasswdSecret ' +
    'empty: without them nothing uses BuildKit, and buildkit.enabled can be false.',
})

/** The codes of what keeps images of crews from being built or pulled. */
export const BUILD_WARNINGS = { ...OWN, ...PROBLEMS, ...CERTIFICATE_WARNINGS }

/** What workers last found of BuildKit and the registry of crews. */
export interface BuildDetails {
  readonly builds: {
    /** The time of a worker's last look, as ISO 8601; null: none has looked. */
    readonly checked_at: string | null
    /** How the last image ended that was made to try it; null: nobody had one made. */
    readonly canary: { readonly at: string; readonly ok: boolean; readonly seconds: number } | null
  }
}

/** What is told of builds. */
interface ToldBuilds {
  readonly details: Partial<BuildDetails>
  readonly warnings: readonly Warning[]
}

/** Reads what workers found; nothing where the database does not say. */
export async function readBuilds({ sql, signal }: CheckContext): Promise<ToldBuilds> {
  try {
    return tellBuilds(await orAbort(signal, readOnly(sql, findBuildChecks)))
  } catch {
    // The database has a check of its own.
    return { details: {}, warnings: [] }
  }
}

function tellBuilds({ look, canary }: BuildChecks): ToldBuilds {
  const isStale = !look || Date.now() - look.checkedAt.getTime() > STALE_MINUTES * 60_000
  const found = isStale
    ? []
    : look.found.problems.flatMap(({ code, message }) => tell(code, message))
  const ends = Object.entries(isStale ? {} : look.found.certificates).flatMap(([name, end]) =>
    warnOfExpiry(`builds (${name})`, new Date(end)),
  )
  const { problem } = canary?.found ?? {}
  const tried = problem
    ? tell(problem.code, `the last image that was made to try it: ${problem.message}`)
    : []
  return {
    details: {
      builds: {
        checked_at: look?.checkedAt.toISOString() ?? null,
        canary: canary
          ? { at: canary.checkedAt.toISOString(), ok: !problem, seconds: canary.found.seconds }
          : null,
      },
    },
    warnings: [...(isStale ? [UNCHECKED] : []), ...found, ...ends, ...tried],
  }
}

const UNCHECKED = warning(
  OWN.builds_unchecked,
  `BuildKit is deployed, and no worker has looked at it for ${STALE_MINUTES} minutes`,
)

/** A worker of a newer release may know further codes. */
const tell = (code: BuildProblemCode, message: string): readonly Warning[] =>
  Object.hasOwn(PROBLEMS, code) ? [warning(PROBLEMS[code], message)] : []

/** The last image that was made to try builds, as an item of the page. */
export const buildFacts = ({ builds }: ShownDetails<BuildDetails>): readonly Html[] =>
  builds?.canary?.ok
    ? [html`<li>Image built and pulled in ${builds.canary.seconds} s (${builds.canary.at})</li>`]
    : []
