import type { ForwardProxy } from './forward-proxy.ts'
import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to the address of a tool. */
export const createToolGuard = (
  privateOrigins: readonly string[],
  proxy?: ForwardProxy,
): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    proxy,
    setting: 'TOOL_PRIVATE_ORIGINS (chart: outgoing.toolPrivateOrigins)',
  })
