import type * as k8s from '../k8s.ts'

/** Pod Security "restricted", with the user that the image was built for. */
export const podSecurity = (user: number): k8s.PodSecurityContext => ({
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  fsGroupChangePolicy: 'OnRootMismatch',
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
})

/** A container that can neither change its image nor gain a privilege. */
export const containerSecurity = (user: number): k8s.SecurityContext => ({
  runAsUser: user,
  runAsNonRoot: true,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
})

/** The user of our own images (SPEC 5.4). */
export const PLATFORM_USER = 1000

/** The user of the official PostgreSQL image. */
export const POSTGRES_USER = 999

/** The user of the database proxy's image. */
export const DB_PROXY_USER = 65_532
