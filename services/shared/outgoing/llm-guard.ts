import type { ForwardProxy } from './forward-proxy.ts'
import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to the address of an LLM connection. */
export const createLlmGuard = (
  privateOrigins: readonly string[],
  proxy?: ForwardProxy,
): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    proxy,
    setting: 'LLM_PRIVATE_ORIGINS (chart: outgoing.llmPrivateOrigins)',
  })
