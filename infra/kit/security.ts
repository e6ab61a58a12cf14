import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { literal } from '../template/named.ts'
import { not } from '../template/operators.ts'
import { partWith } from '../template/parts.ts'
import { when } from '../template/structure.ts'
import type { Exactly } from '../template/structure.ts'
import { values } from '../values.ts'

const { openshift } = values.global

/**
 * An id of a user or a group; OpenShift assigns its own, and refuses every pod that names another
 * one.
 */
const fixedId = (id: Val<number>) => when<number>(not(openshift), id)

interface User {
  readonly user: Val<number>
}

/** Pod Security "restricted", with the user that the image was built for. */
export const podSecurity = (user: number) => restrictedPod({ user: literal(user) })

const restrictedPod = partWith(
  {
    name: 'platform.podSecurityContext',
    comment: 'Pod Security "restricted", with the user of the image; OpenShift assigns its own.',
  },
  ({ user }: User): Exactly<k8s.PodSecurityContext> => ({
    runAsUser: fixedId(user),
    runAsGroup: fixedId(user),
    fsGroup: fixedId(user),
    fsGroupChangePolicy: 'OnRootMismatch',
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  }),
)

/** A container that can neither change its image nor gain a privilege. */
export const containerSecurity = (user: number) => restrictedContainer({ user: literal(user) })

const restrictedContainer = partWith(
  {
    name: 'platform.securityContext',
    comment: 'A container that can neither change its image nor gain a privilege.',
  },
  ({ user }: User): Exactly<k8s.SecurityContext> => ({
    runAsUser: fixedId(user),
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }),
)

/** The user of our own images (SPEC 5.4). */
export const PLATFORM_USER = 1000

/** The user of the official PostgreSQL image. */
export const POSTGRES_USER = 999

/** The user of the database proxy's image. */
export const DB_PROXY_USER = 65_532
