import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to the address of an LLM connection. */
export const createLlmGuard = (privateOrigins: readonly string[]): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    setting: 'LLM_PRIVATE_ORIGINS (chart: outgoing.llmPrivateOrigins)',
  })
