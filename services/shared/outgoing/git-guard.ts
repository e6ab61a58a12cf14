import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to a Git repository. */
export const createGitGuard = (privateOrigins: readonly string[]): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    setting: 'GIT_PRIVATE_ORIGINS (chart: outgoing.gitPrivateOrigins)',
  })
