import type { ForwardProxy } from './forward-proxy.ts'
import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to a Git repository. */
export const createGitGuard = (
  privateOrigins: readonly string[],
  proxy?: ForwardProxy,
): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    proxy,
    setting: 'GIT_PRIVATE_ORIGINS (chart: outgoing.gitPrivateOrigins)',
  })
